//! Finds the address at which other machines in the room reach this one.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

/// The address at which a bound socket is reached. For a socket that listens on all addresses, it is the one of the
/// default route, otherwise one in any network, otherwise the loopback address.
pub(crate) fn reached_at(bound: SocketAddr) -> SocketAddr {
    if !bound.ip().is_unspecified() {
        return bound;
    }
    // An address reserved for documentation: packets to it would take the default route.
    let outside = Ipv4Addr::new(192, 0, 2, 1);
    let ip = from(outside).or_else(|| networks().into_iter().find_map(from));
    SocketAddr::new(ip.unwrap_or(Ipv4Addr::LOCALHOST).into(), bound.port())
}

/// The local address of packets sent to `other`. Connecting a UDP socket sends nothing.
fn from(other: Ipv4Addr) -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((other, 9)).ok()?;
    match socket.local_addr().ok()?.ip() {
        IpAddr::V4(ip) if !ip.is_loopback() && !ip.is_unspecified() => Some(ip),
        _ => None,
    }
}

/// An address in each network of the routing table, if it can be read: a hotspot has no default route.
fn networks() -> Vec<Ipv4Addr> {
    std::fs::read_to_string("/proc/net/route").map(|table| destinations(&table)).unwrap_or_default()
}

fn destinations(table: &str) -> Vec<Ipv4Addr> {
    let destination = |line: &str| {
        let number = u32::from_str_radix(line.split_whitespace().nth(1)?, 16).ok()?;
        // The number is in native byte order. The network's own address is no host, so the next one is used.
        Some(Ipv4Addr::from(u32::from_be_bytes(number.to_ne_bytes()) | 1))
    };
    table.lines().skip(1).filter_map(destination).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specific_address_is_kept() {
        for bound in ["127.0.0.1:7000", "192.168.1.7:80", "[::1]:7000"] {
            let bound: SocketAddr = bound.parse().expect("an address");
            assert_eq!(reached_at(bound), bound);
        }
    }

    #[test]
    fn the_unspecified_address_becomes_a_reachable_one() {
        for bound in ["0.0.0.0:7000", "[::]:7000"] {
            let reached = reached_at(bound.parse().expect("an address"));
            assert!(
                reached.is_ipv4() && !reached.ip().is_unspecified() && reached.port() == 7000,
                "{reached}"
            );
        }
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn routes_are_read() {
        let table = "Iface\tDestination\tGateway\tFlags\nwlan0\t000CA8C0\t00000000\t0001\nx\tnothing\n";
        assert_eq!(destinations(table), [Ipv4Addr::new(192, 168, 12, 1)]);
    }
}
