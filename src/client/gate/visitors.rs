//! Whose connection it is: a gate listens on a port of the loopback interface, which every user of the machine can reach.

use std::{fs, io, net::SocketAddr};

/// The user whose process has made the connection between these two addresses, or `None` if the kernel does not tell.
/// `theirs` is that process's end.
pub(super) fn owner(theirs: SocketAddr, ours: SocketAddr) -> Option<u32> {
    // A program may reach a port of IPv4 with a socket of IPv6, as those of Java do.
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    tables
        .iter()
        .filter_map(|table: &io::Result<String>| table.as_ref().ok())
        .find_map(|table| table.lines().find_map(|line| owner_in(line, theirs.port(), ours.port())))
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
        let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let visitor = TcpStream::connect(door.local_addr().expect("its address")).expect("a connection");
        let (theirs, ours) = (visitor.local_addr(), visitor.peer_addr());
        let found = owner(theirs.expect("an address"), ours.expect("an address"));
        assert_eq!(found, Some(rustix::process::geteuid().as_raw()));
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
