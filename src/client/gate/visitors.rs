//! Whose connection it is: a gate listens on a port of the loopback interface, which every user of the machine can reach.

use std::{fs, net::SocketAddr};

/// The user whose process has made the connection between these two addresses, or `None` if the kernel does not tell.
/// `theirs` is that process's end.
pub(super) fn owner(theirs: SocketAddr, ours: SocketAddr) -> Option<u32> {
    asked(theirs, ours).or_else(|| listed(theirs.port(), ours.port()))
}

/// Asks the kernel for one socket, by `NETLINK_SOCK_DIAG`. `None` if it does not answer.
#[cfg(target_os = "linux")]
fn asked(theirs: SocketAddr, ours: SocketAddr) -> Option<u32> {
    use rustix::net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
    };

    let (SocketAddr::V4(theirs), SocketAddr::V4(ours)) = (theirs, ours) else { return None };
    let diagnoses = Some(netlink::SOCK_DIAG);
    let socket =
        socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, diagnoses).ok()?;
    send(&socket, &request(theirs, ours), SendFlags::empty()).ok()?;
    let mut answer = [0; 512];
    // The kernel has answered before `send` returns.
    let (length, _) = recv(&socket, &mut answer, RecvFlags::DONTWAIT).ok()?;
    read_answer(answer.get(..length)?)
}

#[cfg(not(target_os = "linux"))]
fn asked(_: SocketAddr, _: SocketAddr) -> Option<u32> {
    None
}

/// The type of the request and of its answer: `SOCK_DIAG_BY_FAMILY`.
#[cfg(target_os = "linux")]
const BY_FAMILY: u16 = 20;

/// An `nlmsghdr` and an `inet_diag_req_v2`, as the kernel's `inet_diag.h` has them.
#[cfg(target_os = "linux")]
fn request(theirs: std::net::SocketAddrV4, ours: std::net::SocketAddrV4) -> Vec<u8> {
    const LENGTH: u32 = 72;
    const NLM_F_REQUEST: u16 = 1;
    const AF_INET: u8 = 2;
    const IPPROTO_TCP: u8 = 6;
    let mut request = LENGTH.to_ne_bytes().to_vec();
    request.extend(BY_FAMILY.to_ne_bytes());
    request.extend(NLM_F_REQUEST.to_ne_bytes());
    request.extend([0; 8]);
    request.extend([AF_INET, IPPROTO_TCP, 0, 0]);
    // In any state.
    request.extend(u32::MAX.to_ne_bytes());
    request.extend([theirs, ours].map(|end| end.port().to_be_bytes()).concat());
    for end in [theirs, ours] {
        request.extend(end.ip().octets());
        request.extend([0; 12]);
    }
    request.extend([0; 4]);
    // Whatever its cookie.
    request.extend([0xff; 8]);
    request
}

/// Parses an `nlmsghdr` and an `inet_diag_msg`. `None` if it is something else.
#[cfg(target_os = "linux")]
fn read_answer(answer: &[u8]) -> Option<u32> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let user = u32::from_ne_bytes(answer.get(80..84)?.try_into().ok()?);
    (kind == BY_FAMILY).then_some(user)
}

/// Looks for the connection in the kernel's tables, which takes it milliseconds for each.
fn listed(theirs: u16, ours: u16) -> Option<u32> {
    // A program may reach a port of IPv4 with a socket of IPv6, as those of Java do.
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|table| {
        let table = fs::read_to_string(table).ok()?;
        table.lines().find_map(|line| owner_in(line, theirs, ours))
    })
}

/// Parses a line of `/proc/net/tcp`: its owner, if it is the socket of 127.0.0.1 with the port `theirs`, connected to `ours`.
fn owner_in(line: &str, theirs: u16, ours: u16) -> Option<u32> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let mut is = |port: u16| Some(words.next()?.ends_with(&format!("0100007F:{port:04X}")));
    if !(is(theirs)? && is(ours)?) {
        return None;
    }
    words.nth(4)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    #[test]
    fn the_owner_of_a_connection_is_known() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let ours = listener.local_addr().expect("its address");
        let own = Some(rustix::process::geteuid().as_raw());
        let visitor = TcpStream::connect(ours).expect("a connection");
        let theirs = visitor.local_addr().expect("an address");
        assert_eq!(listed(theirs.port(), ours.port()), own);
        assert_eq!(owner(theirs, ours), own);
        assert_eq!(asked(theirs, ours), own.filter(|_| cfg!(target_os = "linux")));
    }

    #[test]
    fn a_program_may_use_a_socket_of_ipv6() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let ours = listener.local_addr().expect("its address");
        let mapped = (Ipv4Addr::LOCALHOST.to_ipv6_mapped(), ours.port());
        // A machine may have no IPv6.
        let Ok(_visitor) = TcpStream::connect(mapped) else { return };
        let (_accepted, theirs) = listener.accept().expect("a connection");
        let own = Some(rustix::process::geteuid().as_raw());
        assert_eq!(owner(theirs, ours), own);
        assert_eq!(asked(theirs, ours).is_some(), cfg!(target_os = "linux"));
    }

    #[test]
    fn a_line_of_the_kernels_table_is_read() {
        let rest = "01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000";
        let line = |from: &str, to: &str| format!("   7: {from} {to} {rest}");
        assert_eq!(owner_in(&line("0100007F:C350", "0100007F:1F90"), 50_000, 8_080), Some(1000));
        let mapped = "0000000000000000FFFF0000";
        let six = line(&format!("{mapped}0100007F:C350"), &format!("{mapped}0100007F:1F90"));
        assert_eq!(owner_in(&six, 50_000, 8_080), Some(1000));
        assert_eq!(owner_in(&line("0100007F:1F90", "0100007F:C350"), 50_000, 8_080), None, "the other end");
        assert_eq!(owner_in("  sl  local_address rem_address   st", 50_000, 8_080), None);
    }
}
