//! Where a request comes from, as far as limits are concerned.
//!
//! Addresses are kept in memory while something of theirs is being counted. None is ever written
//! anywhere, so nothing here can be printed.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;

/// The header to which a proxy appends the address that it saw.
const FORWARDED: &str = "x-forwarded-for";

/// A client as limits see it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    /// The machine itself. Whoever runs programs on it is its operator's concern: no limit by
    /// address holds.
    Local,
    /// An IPv4 address, or the half of an IPv6 address that names the network: one household has as
    /// many of the other half as it likes.
    Network(u64),
}

impl Client {
    /// The client at the other end of a connection.
    pub fn of(peer: SocketAddr) -> Self {
        Self::at(peer.ip())
    }

    fn at(address: IpAddr) -> Self {
        match address.to_canonical() {
            address if address == IpAddr::from([127, 0, 0, 1]) => Self::Local,
            IpAddr::V4(address) => Self::Network(address.to_bits().into()),
            IpAddr::V6(address) if address.is_loopback() => Self::Local,
            IpAddr::V6(address) => Self::Network((address.to_bits() >> 64) as u64),
        }
    }

    /// The client of whom a proxy speaks: the last address in the header is the one that the proxy
    /// itself added, all before it are hearsay. Without one, the proxy.
    pub fn forwarded(self, headers: &HeaderMap) -> Self {
        let last = headers.get_all(FORWARDED).iter().next_back();
        let last =
            last.and_then(|value| value.to_str().ok()).and_then(|value| value.rsplit(',').next());
        let address = last.map(str::trim).and_then(|text| {
            // Some proxies add the port.
            text.parse()
                .ok()
                .or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
        });
        address.map_or(self, Self::at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Client {
        Client::at(text.parse().unwrap())
    }

    #[test]
    fn a_network_is_one_client_and_the_machine_itself_is_none() {
        assert!(
            at("2001:db8:1:2::1") == at("2001:db8:1:2:ffff::9")
                && at("2001:db8:1:2::1") != at("2001:db8:1:3::1")
        );
        assert!(at("::ffff:192.0.2.7") == at("192.0.2.7") && at("192.0.2.7") != at("192.0.2.8"));
        assert!(
            at("127.0.0.1") == Client::Local
                && at("::1") == Client::Local
                && at("127.0.0.2") != Client::Local
        );
    }

    #[test]
    fn only_what_the_proxy_itself_added_is_believed() {
        let proxy = at("192.0.2.1");
        let headers = |values: &[&'static str]| {
            values
                .iter()
                .map(|value| (FORWARDED.parse().unwrap(), value.parse().unwrap()))
                .collect::<HeaderMap>()
        };
        for values in [
            &["192.0.2.9, 198.51.100.7"][..],
            &["192.0.2.9", "198.51.100.7"],
            &["198.51.100.7:4711"],
        ] {
            assert!(proxy.forwarded(&headers(values)) == at("198.51.100.7"), "{values:?}");
        }
        for values in [&[][..], &["unknown"], &["198.51.100.7, "]] {
            assert!(proxy.forwarded(&headers(values)) == proxy, "{values:?}");
        }
    }
}
