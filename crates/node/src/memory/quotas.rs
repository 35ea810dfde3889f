//! As whom rooms are created, and the quotas for those who are not the administrator: what a room
//! may be, and how many are created within an hour.

use std::collections::VecDeque;

use ostrakon_mixing::room::{CAPACITY, PAYLOAD_BYTES, RoomDescriptor, SECONDS};

use crate::config::RoomPolicy;
use ostrakon_protocol::{RoomLimits, ServiceError};

/// Within this time rooms are counted, in milliseconds.
const HOUR_MS: u64 = 3600 * 1000;

pub use ostrakon_job::Creator;

impl RoomPolicy {
    /// The quotas, as people are told before they create a room.
    pub(crate) fn limits(&self) -> RoomLimits {
        RoomLimits {
            payload: [*PAYLOAD_BYTES.start(), self.payload],
            capacity: [*CAPACITY.start(), self.capacity],
            seconds: [self.shortest_seconds.max(*SECONDS.start()), *SECONDS.end()],
            retention_days: self.retention_days,
        }
    }

    /// Whether a room is within the quotas.
    ///
    /// # Errors
    /// `Refused` names the quota.
    pub(crate) fn admits(&self, room: &RoomDescriptor) -> Result<(), ServiceError> {
        let refused = |text: String| Err(ServiceError::Refused(text));
        if room.payload > self.payload {
            return refused(format!(
                "this server takes rooms with messages of at most {} bytes (payload)",
                self.payload
            ));
        }
        if room.capacity > self.capacity {
            return refused(format!(
                "this server takes rooms of at most {} slots (capacity)",
                self.capacity
            ));
        }
        if room.seconds < self.shortest_seconds {
            return refused(format!(
                "this server takes epochs of at least {} seconds (seconds)",
                self.shortest_seconds
            ));
        }
        match (self.retention_days, room.retention_days) {
            (Some(most), kept) if kept.is_none_or(|days| days > most) => refused(format!(
                "this server takes rooms that keep messages for at most {most} days (retention_days)"
            )),
            _ => Ok(()),
        }
    }
}

/// The rooms created of late: when, and from which address. Bounded by [`RoomPolicy::per_hour`].
#[derive(Default)]
pub(crate) struct Creations(VecDeque<(u64, Option<u64>)>);

impl Creations {
    /// Counts one more, unless there were too many.
    ///
    /// # Errors
    /// `Busy` names the quota.
    pub fn note(
        &mut self,
        policy: &RoomPolicy,
        origin: Option<u64>,
        now: u64,
    ) -> Result<(), ServiceError> {
        self.0.retain(|(at, _)| now < at.saturating_add(HOUR_MS));
        let busy = |text: &str| {
            Err(ServiceError::Busy(format!("{text}; try again in an hour, or at another server")))
        };
        if self.0.len() >= policy.per_hour as usize {
            return busy(
                "as many rooms as this server takes within an hour were created (per_hour)",
            );
        }
        let of_origin =
            self.0.iter().filter(|(_, other)| origin.is_some() && *other == origin).count();
        if of_origin >= policy.per_hour_and_address as usize {
            return busy(
                "this address has created as many rooms as it may within an hour (per_hour_and_address)",
            );
        }
        self.0.push_back((now, origin));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(policy: &RoomPolicy, room: &RoomDescriptor) -> String {
        policy.admits(room).expect_err("beyond a quota").to_string()
    }

    #[test]
    fn each_quota_is_named() {
        let policy = RoomPolicy { retention_days: Some(30), ..RoomPolicy::default() };
        let room = RoomDescriptor { retention_days: Some(30), ..RoomDescriptor::new("r") };
        assert_eq!(policy.admits(&room), Ok(()));
        for (room, word) in [
            (RoomDescriptor { payload: 1032, ..room.clone() }, "(payload)"),
            (RoomDescriptor { capacity: 1025, ..room.clone() }, "(capacity)"),
            (RoomDescriptor { seconds: 4, ..room.clone() }, "(seconds)"),
            (RoomDescriptor { retention_days: Some(31), ..room.clone() }, "(retention_days)"),
            (RoomDescriptor { retention_days: None, ..room.clone() }, "(retention_days)"),
        ] {
            assert!(refused(&policy, &room).contains(word), "{word}");
        }
    }

    #[test]
    fn rooms_are_counted_by_the_hour_in_all_and_by_address() {
        let policy = RoomPolicy { per_hour: 3, per_hour_and_address: 2, ..RoomPolicy::default() };
        let mut creations = Creations::default();
        creations.note(&policy, Some(1), 0).unwrap();
        creations.note(&policy, Some(1), 5).unwrap();
        assert!(
            creations
                .note(&policy, Some(1), 6)
                .unwrap_err()
                .to_string()
                .contains("(per_hour_and_address)")
        );
        creations.note(&policy, Some(2), 7).unwrap();
        assert!(
            creations.note(&policy, Some(3), 8).unwrap_err().to_string().contains("(per_hour)")
        );
        creations.note(&policy, Some(1), HOUR_MS).expect("an hour has passed since the first");
        let mut local = Creations::default();
        (0..3)
            .for_each(|at| local.note(&policy, None, at).expect("no address, no limit by address"));
    }
}
