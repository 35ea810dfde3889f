//! Who may create rooms at this server, and of what size: the table `[rooms]` of the configuration.
//!
//! The administrator may always, within the limits of the protocol. The quotas are for everybody
//! else. They are this server's: the other operators have theirs, and a room that one of them lets
//! in is kept by all three.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use ostrakon_broadcast::room::{
    CAPACITY, PAYLOAD_BYTES, RETENTION_DAYS, RoomDescriptor, RoomId, SECONDS,
};
use serde::{Deserialize, Serialize};

use crate::core::Core;
use crate::interface::{CodeInfo, RoomLimits, ServiceError};
use crate::rooms::Room;

/// The environment variable that holds the tokens of those who may create rooms, if they are not to
/// be in a file.
pub const CREATION_TOKEN_VARIABLE: &str = "OSTRAKON_CREATION_TOKEN";
/// Within this time rooms are counted, in milliseconds.
const HOUR_MS: u64 = 3600 * 1000;

/// Who may create rooms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Create {
    /// The administrator only.
    #[default]
    Administrator,
    /// Whoever has a creation token, too.
    Token,
    /// Everybody, at a limited rate.
    Anyone,
}

/// The table `[rooms]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RoomPolicy {
    /// Who may create rooms.
    pub create: Create,
    /// File with the tokens of those who may, one a line, if `create` is `token`.
    /// [`CREATION_TOKEN_VARIABLE`] goes before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_token_file: Option<PathBuf>,
    /// Open rooms of this server at most.
    pub most: u32,
    /// The largest payload of a row, in bytes.
    pub payload: u32,
    /// The most slots of an epoch.
    pub capacity: u32,
    /// The shortest epoch, in seconds.
    pub shortest_seconds: u32,
    /// The longest time for which bodies may be kept, in days; rooms must then say how long.
    /// Without it they may be kept for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_days: Option<u32>,
    /// Rooms that are created within an hour at most.
    pub per_hour: u32,
    /// Rooms that one address may create within an hour.
    pub per_hour_and_address: u32,
}

impl Default for RoomPolicy {
    fn default() -> Self {
        Self {
            create: Create::default(),
            creation_token_file: None,
            most: 200,
            payload: 1024,
            capacity: 1024,
            shortest_seconds: 5,
            retention_days: None,
            per_hour: 60,
            per_hour_and_address: 10,
        }
    }
}

/// As whom a room is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creator {
    /// The administrator: no quota holds.
    Administrator,
    /// Somebody whom the policy admits; with a number that stands for the address, if limits by
    /// address hold.
    Guest(Option<u64>),
}

impl RoomPolicy {
    /// What makes no sense, each with its remedy.
    pub(crate) fn problems(&self, complain: &mut impl FnMut(String)) {
        if self.creation_token_file.is_some() && self.create != Create::Token {
            complain("`rooms.creation_token_file` needs `rooms.create = \"token\"`".into());
        }
        for (name, value, range) in
            [("payload", self.payload, PAYLOAD_BYTES), ("capacity", self.capacity, CAPACITY)]
        {
            if !range.contains(&value) {
                complain(format!(
                    "`rooms.{name}` must be from {} to {}, not {value}",
                    range.start(),
                    range.end()
                ));
            }
        }
        if let Some(days) = self.retention_days.filter(|days| !RETENTION_DAYS.contains(days)) {
            let (least, most) = (RETENTION_DAYS.start(), RETENTION_DAYS.end());
            complain(format!("`rooms.retention_days` must be from {least} to {most}, not {days}"));
        }
    }

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

/// How often each address has done something within the hour.
#[derive(Default)]
pub(crate) struct Hourly {
    hour: u64,
    counts: BTreeMap<u64, u32>,
}

impl Hourly {
    /// Counts once more, unless the address has done it `most` times in this hour. `origin` is
    /// `None` where limits by address do not hold; `now` in milliseconds since 1970.
    pub fn note(&mut self, origin: Option<u64>, now: u64, most: u32) -> bool {
        let Some(origin) = origin else { return true };
        if self.hour != now / HOUR_MS {
            *self = Self { hour: now / HOUR_MS, counts: BTreeMap::new() };
        }
        let count = self.counts.entry(origin).or_default();
        let may = *count < most;
        *count += u32::from(may);
        may
    }
}

impl Core {
    /// Whether somebody who is not the administrator may create this room now.
    pub(crate) fn admit_guest_room(
        &self,
        room: &RoomDescriptor,
        origin: Option<u64>,
    ) -> Result<(), ServiceError> {
        let policy = &self.config.rooms;
        policy.admits(room)?;
        let of_this_server = |room: &&Room| room.open && room.author == self.me();
        if self.world().rooms.values().filter(of_this_server).count() >= policy.most as usize {
            return Err(ServiceError::Busy(format!(
                "this server keeps {} open rooms and takes no more (most); close one, or try another server",
                policy.most
            )));
        }
        let mut creations = self.desk.creations.lock().expect("no panic while held");
        creations.note(policy, origin, self.platform.now_ms())
    }

    /// Where a short code leads. Codes are short: whoever makes many rooms can make two of one
    /// code. Then it leads nowhere.
    pub(crate) fn code(&self, code: &str) -> Result<CodeInfo, ServiceError> {
        let not_found = |text: &str| ServiceError::NotFound(text.into());
        let code = RoomId::tidy_code(code)
            .ok_or_else(|| not_found("a room's code has eight letters and digits"))?;
        let world = self.world();
        let of_code = world.rooms.iter().filter(|(id, room)| !room.deleted && id.code() == code);
        let (open, closed): (Vec<_>, Vec<_>) = of_code.partition(|(_, room)| room.open);
        match (&open[..], &closed[..]) {
            ([(room, _)], _) | ([], [(room, _)]) => {
                Ok(CodeInfo { room: room.to_hex(), servers: self.servers.digest().to_hex() })
            }
            ([], []) => Err(not_found("no room has this code here; ask for the room's link")),
            _ => Err(not_found("more than one room has this code; ask for the room's link")),
        }
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

    #[test]
    fn each_address_has_its_own_count_by_the_hour() {
        let mut hourly = Hourly::default();
        let mut note = |origin, now| hourly.note(origin, now, 2);
        assert_eq!([note(Some(1), 0), note(Some(1), 1), note(Some(1), 2)], [true, true, false]);
        assert!(note(Some(2), 3), "another address");
        assert!((4..9).all(|now| note(None, now)), "no address, no limit by address");
        assert!(note(Some(1), HOUR_MS), "another hour");
    }

    #[test]
    fn a_policy_that_makes_no_sense_is_named() {
        let mut problems = Vec::new();
        let policy = RoomPolicy {
            creation_token_file: Some("t".into()),
            payload: 8,
            retention_days: Some(0),
            ..RoomPolicy::default()
        };
        policy.problems(&mut |text| problems.push(text));
        let words = ["creation_token_file", "rooms.payload", "rooms.retention_days"];
        assert_eq!(problems.len(), words.len());
        assert!(
            problems.iter().zip(words).all(|(problem, word)| problem.contains(word)),
            "{problems:?}"
        );
    }
}
