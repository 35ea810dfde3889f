//! How much one client, one room, and everybody together may ask of a server: the table `[limits]`
//! of the configuration.
//!
//! The defaults let a class of some hundred phones behind one address take part, and keep one
//! address from taking a room or a server for itself. `docs/limits.md` explains each.

use serde::{Deserialize, Serialize};

use crate::config::ConfigError;

/// Limits on what clients may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Connections at a time.
    pub connections: u32,
    /// Connections at a time from one address; fewer are admitted as the server fills up.
    pub connections_per_address: u32,
    /// Requests a second from one address, averaged over ten seconds.
    pub requests_per_address: u32,
    /// Requests at a time that wait for news.
    pub waiting: u32,
    /// Requests at a time from one address that wait for news.
    pub waiting_per_address: u32,
    /// Requests of participants that a room takes for each of its slots within one epoch's time.
    /// One address has half of it.
    pub requests_per_slot: u32,
    /// The percentage of a room's slots at this server that participants of one address may take.
    pub room_share: u32,
    /// Whether a proxy passes requests on: then a client's address is the last one of
    /// `X-Forwarded-For`.
    pub behind_proxy: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8192,
            connections_per_address: 2048,
            requests_per_address: 1000,
            waiting: 6144,
            waiting_per_address: 1024,
            requests_per_slot: 24,
            room_share: 90,
            behind_proxy: false,
        }
    }
}

impl Limits {
    /// Refuses limits that would keep everybody out.
    ///
    /// # Errors
    /// [`ConfigError::Setting`].
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let counts = [
            ("connections", self.connections),
            ("connections_per_address", self.connections_per_address),
            ("requests_per_address", self.requests_per_address),
            ("waiting", self.waiting),
            ("waiting_per_address", self.waiting_per_address),
            ("requests_per_slot", self.requests_per_slot),
        ];
        if let Some((name, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return Err(ConfigError::Setting(format!(
                "`limits.{name}` must be at least 1: with 0 nobody can take part"
            )));
        }
        if !(1..=100).contains(&self.room_share) {
            return Err(ConfigError::Setting(
                "`limits.room_share` is a percentage from 1 to 100".into(),
            ));
        }
        Ok(())
    }

    /// How many participants of one address may be present at this server in a room with so many
    /// slots, of which each of so many servers gives out its part.
    pub(crate) fn share(&self, capacity: u32, servers: usize) -> u32 {
        let servers = u32::try_from(servers).expect("few servers");
        let slots = u64::from(capacity.div_ceil(servers));
        u32::try_from(slots * u64::from(self.room_share) / 100).unwrap_or(u32::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_keep_everybody_out_are_refused_by_name() {
        assert!(Limits::default().check().is_ok());
        let none = Limits { waiting: 0, ..Limits::default() };
        assert!(none.check().unwrap_err().to_string().contains("`limits.waiting`"));
        for room_share in [0, 101] {
            let share = Limits { room_share, ..Limits::default() };
            assert!(share.check().unwrap_err().to_string().contains("percentage"));
        }
    }

    #[test]
    fn a_class_behind_one_address_fits_and_leaves_a_seat() {
        let limits = Limits::default();
        assert!(limits.share(360, 3) >= 100, "300 phones, a third of them at each server");
        assert_eq!(
            (limits.share(3, 3), limits.share(192, 3), limits.share(u32::MAX, 3)),
            (1, 57, 1_288_490_188)
        );
        for capacity in 12..2000u32 {
            assert!(limits.share(capacity, 3) < capacity.div_ceil(3), "{capacity}");
        }
    }
}
