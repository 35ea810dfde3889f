//! Who may create rooms at this server, and of what size: the table `[rooms]` of the configuration.
//!
//! The administrator may always, within the limits of the protocol. The quotas are for everybody
//! else. They are this server's: the other operators have theirs, and a room that one of them lets
//! in is kept by all.

use std::path::PathBuf;

use ostrakon_mixing::room::{CAPACITY, PAYLOAD_BYTES, RETENTION_DAYS};
use ostrakon_protocol::Create;
use serde::{Deserialize, Serialize};

/// The environment variable that holds the tokens of those who may create rooms, if they are not to
/// be in a file.
pub const CREATION_TOKEN_VARIABLE: &str = "OSTRAKON_CREATION_TOKEN";

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
}

#[cfg(test)]
mod tests {
    use super::*;

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
