//! Rooms, epochs and the servers that keep them.

use ostrakon_crypto::{Digest, Transcript, VerifyingKey};
pub use ostrakon_party::Servers;
use ostrakon_party::{ByParty, Trust};
use serde::{Deserialize, Serialize};

/// Smallest and largest payload of a row in bytes (a room setting).
pub const PAYLOAD_BYTES: std::ops::RangeInclusive<u32> = 32..=4096;
/// Bytes of redundancy in a row ([`crate::row`]).
pub const REDUNDANCY: usize = 16;
/// Smallest and largest number of slots of an epoch.
pub const CAPACITY: std::ops::RangeInclusive<u32> = 3..=1 << 20;
/// Largest table in bytes, slots times the width of a row: a mark may hold one, and a database
/// takes no value of a gigabyte.
pub const TABLE_BYTES: u64 = 256 << 20;
/// People that a host may expect.
pub const PEOPLE: std::ops::RangeInclusive<u32> = 1..=1 << 20;
/// Seconds that an epoch may collect: at most a week.
pub const SECONDS: std::ops::RangeInclusive<u32> = 1..=7 * 24 * 3600;
/// Longest room name in bytes of UTF-8.
pub const NAME_BYTES: usize = 200;
/// Smallest payload of a row in a room for messages: a call must fit.
pub const MESSAGES_PAYLOAD: u32 = 256;
/// Longest purpose in bytes of UTF-8.
pub const PURPOSE_BYTES: usize = 1000;
/// Days that bodies may be kept, if the room sets a limit.
pub const RETENTION_DAYS: std::ops::RangeInclusive<u32> = 1..=3650;

/// The minimum of a room for practice: what a single person says is published, and everybody knows
/// whose it is. 1 is little more than that: whoever runs one server and has a participant of its
/// own may leave somebody alone with it.
pub const PRACTICE: u32 = 0;
/// The minimum unless something else is asked for: from five people on, of whom any one server may
/// have invented two.
pub const USUAL_MINIMUM: u32 = 3;

/// How many places a server may have given out beside another one that has given out so many, when
/// those that must be honest if it is not have so many `together`: one more than the other one, and
/// in a large room an eighth more, since servers that wait for each other's every place would be
/// slow to take in thousands. Or its share of what the others have beyond the minimum: should the
/// very people whom the corrupt ones give places have others' places, too, the minimum is met
/// without them.
pub fn most_beside(other: u32, together: u32, minimum: u32, trust: &Trust) -> u32 {
    let hardly_more = other.saturating_add(other / 8).saturating_add(1);
    let corrupt = u32::try_from(trust.corrupt()).unwrap_or(u32::MAX).max(1);
    hardly_more.max(together.saturating_sub(minimum) / corrupt)
}

/// How many people have to take part so that a minimum is met, however they are spread over the
/// servers, none of which gives out more places than [`most_beside`] another one.
pub fn people_for(minimum: u32, trust: &Trust) -> u32 {
    let count = |parties: usize| u32::try_from(parties).unwrap_or(u32::MAX);
    let (parties, corrupt) = (count(trust.parties()), count(trust.corrupt()));
    // If each has given out so many, those at honest servers are enough. If one of them has given
    // out one fewer, the corrupt ones can have no more than `most_beside` that; or the honest ones
    // had the minimum before.
    let each = minimum.div_ceil(parties - corrupt);
    let beside = |fewest| most_beside(fewest, 0, minimum, trust).saturating_mul(corrupt);
    let at_corrupt = each.checked_sub(1).map_or(0, beside);
    minimum.saturating_add(at_corrupt).max(1)
}

/// The minimum that suits so many people who are expected: three are a group, nobody need wait for
/// all, and more than eight need not be asked for.
pub fn minimum_for(people: u32, trust: &Trust) -> u32 {
    let enough = people.saturating_mul(6).div_ceil(10).clamp(3, 8);
    (1..=enough).rev().find(|minimum| people_for(*minimum, trust) <= enough).unwrap_or(1)
}

/// The greatest minimum of a room with so many slots: all that honest servers give out, when each
/// gives out as many as every other.
#[must_use]
pub fn most_minimum(capacity: u32, trust: &Trust) -> u32 {
    let count = |parties: usize| u32::try_from(parties).unwrap_or(u32::MAX);
    let (parties, corrupt) = (count(trust.parties()), count(trust.corrupt()));
    (capacity / parties).saturating_mul(parties - corrupt)
}

/// How many more people have to come, each to the server that has fewest, until a minimum is met
/// and there are as many as [`people_for`] says. `present` counts those who are there, by server.
pub fn more_needed(present: &[u32], minimum: u32, trust: &Trust) -> u32 {
    let there = present.iter().fold(0, |sum: u32, count| sum.saturating_add(*count));
    // Where nothing is known, nobody is told to be missing; and for practice nobody is waited for.
    let missing = match (present, minimum) {
        ([], _) | (_, PRACTICE) => 0,
        _ => people_for(minimum, trust).saturating_sub(there),
    };
    let mut present = ByParty::from(present.iter().copied().map(u64::from).collect::<Vec<_>>());
    let mut more = 0;
    // With the corrupt servers alone nobody is left when their participants are not counted.
    while present.parties() > trust.corrupt() && trust.anonymity(&present) < u64::from(minimum) {
        let fewest = present.iter().min_by_key(|(_, count)| **count).map(|(party, _)| party);
        present[fewest.expect("there are servers")] += 1;
        more += 1;
    }
    more.max(missing)
}

/// Which engine mixes a room's messages, which is to say: whom its participants must trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    /// Three servers, at most one of them malicious (crate `replicated`).
    Ruffle = 1,
    /// The same trust, other work: nothing big is prepared and nothing downloaded, and each row has
    /// a public key operation at each server (crate `additive`). No robust mode.
    Clarion = 2,
}

impl EngineKind {
    /// All engines.
    pub const ALL: [EngineKind; 2] = [EngineKind::Ruffle, EngineKind::Clarion];

    /// Whether it can do what a room asks for when a server cheats.
    #[must_use]
    pub fn offers(self, mode: Mode) -> bool {
        self == EngineKind::Ruffle || mode == Mode::Fair
    }

    /// The number under which signatures and stores have it.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The engine of a number.
    #[must_use]
    pub fn of_number(number: u8) -> Option<Self> {
        EngineKind::ALL.into_iter().find(|engine| engine.number() == number)
    }
}

/// What happens when a server is caught cheating in the middle of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The epoch stops before anything is revealed; the messages enter a later one.
    Fair,
    /// A server that is proved honest finishes the epoch alone, and thereby learns who wrote what.
    Robust,
}

/// Who may take part in a room, and in what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Admission {
    /// Whoever has the link. One person may take part under many keys.
    Open,
    /// Keys that the host has admitted.
    Members,
    /// Whoever has the link, and there are no words for everybody: two and two exchange messages
    /// that nobody else can read (`docs/spec/messaging.md`). Every row is full, and looks random.
    Messages,
}

impl Admission {
    /// Whether any key may take part.
    #[must_use]
    pub fn takes_all(self) -> bool {
        self != Admission::Members
    }
}

/// What a room is. It never changes; its digest names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomDescriptor {
    /// Shown to participants. At most [`NAME_BYTES`] bytes.
    pub name: String,
    /// What it is for, in words; may be empty. At most [`PURPOSE_BYTES`] bytes.
    pub purpose: String,
    /// Whose signed actions the servers carry out; without one, only operators
    /// act.
    pub host: Option<VerifyingKey>,
    /// Who may take part.
    pub admission: Admission,
    /// Days after which the servers erase the bodies of messages, within [`RETENTION_DAYS`];
    /// without it they stay.
    pub retention_days: Option<u32>,
    /// The engine.
    pub engine: EngineKind,
    /// What happens when a server cheats.
    pub mode: Mode,
    /// Bytes of payload of a row, a multiple of 8 within [`PAYLOAD_BYTES`]. A text may have two
    /// bytes less.
    pub payload: u32,
    /// Slots of an epoch, within [`CAPACITY`]: at most so many participants.
    pub capacity: u32,
    /// Seconds that an epoch collects before it is sealed.
    pub seconds: u32,
    /// The least number of accepted submissions, not counting those whose slots one server gave out
    /// (whichever server that be), with which an epoch is opened. [`PRACTICE`] asks for no crowd.
    /// Hosts may lower it.
    pub minimum: u32,
    /// How many people the host expects. It is shown to everybody and decides about nothing.
    pub people: Option<u32>,
    /// Random; makes rooms of equal settings different.
    pub nonce: [u8; 16],
}

/// Crockford's base 32: no I, L, O or U.
const CODE_SYMBOLS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// A room's name: the first half of its descriptor's digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RoomId(pub [u8; 16]);

impl RoomId {
    /// Lower-case hexadecimal, 32 characters.
    pub fn to_hex(&self) -> String {
        let mut padded = [0; 32];
        padded[..16].copy_from_slice(&self.0);
        Digest(padded).to_hex()[..32].to_owned()
    }

    /// The short code by which people find the room at one of its servers: 40 bits, as `XXXX-XXXX`
    /// in Crockford's base 32.
    pub fn code(&self) -> String {
        let bits = self.0[..5].iter().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
        let symbol = |i: u32| char::from(CODE_SYMBOLS[(bits >> (5 * (7 - i)) & 31) as usize]);
        let (left, right): (String, String) =
            ((0..4).map(symbol).collect(), (4..8).map(symbol).collect());
        format!("{left}-{right}")
    }

    /// What [`RoomId::code`] writes, from what people type: letters of either case, with or without
    /// the hyphen, with the usual confusions (O for 0, I or L for 1) mended. `None` for anything
    /// else.
    pub fn tidy_code(typed: &str) -> Option<String> {
        let plain = typed.chars().filter(|c| !c.is_whitespace() && *c != '-').map(|c| {
            match c.to_ascii_uppercase() {
                'O' => '0',
                'I' | 'L' => '1',
                other => other,
            }
        });
        let mut code: String = plain.collect();
        let is_symbol = |c: char| u8::try_from(c).is_ok_and(|c| CODE_SYMBOLS.contains(&c));
        if code.len() != 8 || !code.chars().all(is_symbol) {
            return None;
        }
        code.insert(4, '-');
        Some(code)
    }

    /// Reads what [`RoomId::to_hex`] writes; `None` for anything else.
    pub fn from_hex(text: &str) -> Option<Self> {
        let padded = Digest::from_hex(&format!("{text}{}", "0".repeat(32)))?;
        (text.len() == 32).then(|| Self(padded.0[..16].try_into().expect("half of 32 bytes")))
    }
}

/// Why a descriptor is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidRoom(pub String);

impl RoomDescriptor {
    /// An open room with the usual settings and no host: 192 slots of 256 bytes every 10 seconds,
    /// fair, with the usual minimum.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            purpose: String::new(),
            host: None,
            admission: Admission::Open,
            retention_days: None,
            engine: EngineKind::Ruffle,
            mode: Mode::Fair,
            payload: 256,
            capacity: 192,
            seconds: 10,
            minimum: USUAL_MINIMUM,
            people: None,
            nonce: [0; 16],
        }
    }

    /// Checks every limit.
    ///
    /// # Errors
    /// [`InvalidRoom`] names the setting that is out of range and what it may be.
    pub fn validate(&self) -> Result<(), InvalidRoom> {
        let complain = |text: String| Err(InvalidRoom(text));
        if self.name.trim().is_empty() || self.name.len() > NAME_BYTES {
            return complain(format!("the room's name must have 1 to {NAME_BYTES} bytes"));
        }
        if self.purpose.len() > PURPOSE_BYTES {
            return complain(format!("the room's purpose must have at most {PURPOSE_BYTES} bytes"));
        }
        if self.admission == Admission::Members && self.host.is_none() {
            return complain("a room for members needs a host who admits them".into());
        }
        if self.admission == Admission::Messages {
            self.validate_messages()?;
        }
        if !self.engine.offers(self.mode) {
            return complain("only Ruffle rooms have the robust mode".into());
        }
        if self.retention_days.is_some_and(|days| !RETENTION_DAYS.contains(&days)) {
            let (least, most) = (RETENTION_DAYS.start(), RETENTION_DAYS.end());
            return complain(format!(
                "messages can be kept {least} to {most} days, or without a limit"
            ));
        }
        self.validate_table()
    }

    /// Checks what a room for messages asks for besides: nobody's rows may differ from others', so
    /// there are no polls and no host who asks them.
    fn validate_messages(&self) -> Result<(), InvalidRoom> {
        let complain = |text: String| Err(InvalidRoom(text));
        if self.payload < MESSAGES_PAYLOAD {
            return complain(format!(
                "a room for messages needs a message size of at least {MESSAGES_PAYLOAD} bytes, not {}",
                self.payload
            ));
        }
        if self.host.is_some() {
            return complain(
                "a room for messages has no host: there is nothing to moderate".into(),
            );
        }
        if self.mode == Mode::Robust {
            return complain(
                "a room for messages is fair: in the robust mode a server may learn who wrote what"
                    .into(),
            );
        }
        Ok(())
    }

    /// Checks the limits of sizes and times.
    fn validate_table(&self) -> Result<(), InvalidRoom> {
        let complain = |text: String| Err(InvalidRoom(text));
        if !PAYLOAD_BYTES.contains(&self.payload) || !self.payload.is_multiple_of(8) {
            return complain(format!(
                "the message size must be a multiple of 8 from {} to {} bytes, not {}",
                PAYLOAD_BYTES.start(),
                PAYLOAD_BYTES.end(),
                self.payload
            ));
        }
        if !CAPACITY.contains(&self.capacity) {
            return complain(format!(
                "the number of slots must be from {} to {}, not {}",
                CAPACITY.start(),
                CAPACITY.end(),
                self.capacity
            ));
        }
        let table = u64::from(self.capacity) * (u64::from(self.payload) + REDUNDANCY as u64);
        if table > TABLE_BYTES {
            return complain(format!(
                "{} slots of {} bytes make a table of more than {} MiB: take fewer slots or shorter messages",
                self.capacity,
                self.payload,
                TABLE_BYTES >> 20
            ));
        }
        if !SECONDS.contains(&self.seconds) {
            return complain(format!(
                "an epoch must last 1 second to 7 days, not {} seconds",
                self.seconds
            ));
        }
        if self.people.is_some_and(|people| !PEOPLE.contains(&people)) {
            return complain(format!(
                "the number of people expected must be from {} to {}",
                PEOPLE.start(),
                PEOPLE.end()
            ));
        }
        // All engines of rooms are for three servers.
        let most = most_minimum(self.capacity, &Trust::one_of_three());
        if self.minimum > most {
            return complain(format!(
                "the minimum anonymity set must be from 0 (practice, without a crowd) to {most} for {} slots, not {}",
                self.capacity, self.minimum
            ));
        }
        Ok(())
    }

    /// The room's name.
    pub fn id(&self) -> RoomId {
        let mut transcript = Transcript::new("ostrakon/v1/broadcast/room descriptor");
        transcript
            .field(self.name.as_bytes())
            .field(self.purpose.as_bytes())
            .field(self.host.as_ref().map_or(&[], |key| &key.0[..]))
            .number(match self.admission {
                Admission::Open => 1,
                Admission::Members => 2,
                Admission::Messages => 3,
            })
            .number(self.retention_days.unwrap_or(0).into())
            .number(u64::from(self.engine.number()))
            .number(match self.mode {
                Mode::Fair => 1,
                Mode::Robust => 2,
            })
            .number(u64::from(self.payload))
            .number(u64::from(self.capacity))
            .number(u64::from(self.seconds))
            .number(u64::from(self.minimum))
            .number(self.people.unwrap_or(0).into())
            .field(&self.nonce);
        RoomId(transcript.finish().0[..16].try_into().expect("half of 32 bytes"))
    }
}

/// One epoch of one room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EpochId {
    /// The room.
    pub room: RoomId,
    /// Counted from 0.
    pub number: u64,
}

#[cfg(test)]
mod tests {
    use ostrakon_party::Delivery;

    use super::*;

    fn room() -> RoomDescriptor {
        RoomDescriptor {
            payload: 64,
            capacity: 12,
            seconds: 5,
            minimum: 2,
            ..RoomDescriptor::new("r")
        }
    }

    fn messages() -> RoomDescriptor {
        RoomDescriptor { admission: Admission::Messages, payload: 256, ..room() }
    }

    #[test]
    fn every_limit_is_named() {
        assert_eq!(room().validate(), Ok(()));
        assert_eq!(messages().validate(), Ok(()));
        let bad = [
            (RoomDescriptor { name: " ".into(), ..room() }, "name"),
            (RoomDescriptor { payload: 33, ..room() }, "multiple of 8"),
            (RoomDescriptor { payload: 4104, ..room() }, "multiple of 8"),
            (RoomDescriptor { capacity: 2, minimum: 1, ..room() }, "slots"),
            (RoomDescriptor { capacity: 1 << 20, payload: 4096, ..room() }, "table"),
            (RoomDescriptor { seconds: 0, ..room() }, "epoch"),
            (RoomDescriptor { minimum: 9, ..room() }, "anonymity set"),
            (RoomDescriptor { purpose: "p".repeat(1001), ..room() }, "purpose"),
            (RoomDescriptor { admission: Admission::Members, ..room() }, "host"),
            (RoomDescriptor { retention_days: Some(0), ..room() }, "days"),
            (RoomDescriptor { people: Some(0), ..room() }, "people"),
            (RoomDescriptor { payload: 248, ..messages() }, "at least 256"),
            (RoomDescriptor { host: Some(VerifyingKey([1; 32])), ..messages() }, "no host"),
            (RoomDescriptor { mode: Mode::Robust, ..messages() }, "is fair"),
        ];
        for (room, word) in bad {
            let error = room.validate().unwrap_err();
            assert!(error.0.contains(word), "{error}");
        }
    }

    #[test]
    fn every_setting_is_part_of_the_name() {
        let names = [
            room().id(),
            RoomDescriptor { name: "s".into(), ..room() }.id(),
            RoomDescriptor { mode: Mode::Robust, ..room() }.id(),
            RoomDescriptor { payload: 72, ..room() }.id(),
            RoomDescriptor { capacity: 13, ..room() }.id(),
            RoomDescriptor { seconds: 6, ..room() }.id(),
            RoomDescriptor { minimum: 3, ..room() }.id(),
            RoomDescriptor { people: Some(3), ..room() }.id(),
            RoomDescriptor { nonce: [1; 16], ..room() }.id(),
            RoomDescriptor { purpose: "p".into(), ..room() }.id(),
            RoomDescriptor { host: Some(VerifyingKey([1; 32])), ..room() }.id(),
            RoomDescriptor { admission: Admission::Members, ..room() }.id(),
            RoomDescriptor { admission: Admission::Messages, ..room() }.id(),
            RoomDescriptor { retention_days: Some(1), ..room() }.id(),
        ];
        let distinct: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
        assert_eq!(RoomId::from_hex(&names[0].to_hex()), Some(names[0]));
        assert_eq!(RoomId::from_hex(&names[0].to_hex()[1..]), None);
    }

    /// All ways in which so many people may be spread over the servers, fewest first, that none has
    /// more than [`most_beside`] the emptiest of the others.
    fn spreads(people: u32, minimum: u32, trust: &Trust) -> Vec<Vec<u32>> {
        let n = trust.parties();
        let honest = (n - trust.corrupt()) as u32;
        let mut found = Vec::new();
        let mut open: Vec<Vec<u32>> = (0..=people / n as u32).map(|fewest| vec![fewest]).collect();
        while let Some(spread) = open.pop() {
            let left = people - spread.iter().sum::<u32>();
            let others = (n - spread.len()) as u32;
            let most = most_beside(spread[0], honest * spread[0], minimum, trust);
            let last = *spread.last().unwrap();
            match others {
                0 if left == 0 => found.push(spread),
                0 => {}
                _ if left < last * others || left > most * others => {}
                _ => open.extend((last..=most.min(left / others)).map(|next| {
                    let mut spread = spread.clone();
                    spread.push(next);
                    spread
                })),
            }
        }
        found
    }

    /// For every way in which people may be spread, and for no fewer.
    #[test]
    fn so_many_people_meet_a_minimum_however_they_are_spread() {
        for minimum in 1..40 {
            for (n, corrupt) in [(2, 1), (3, 1), (4, 1), (5, 2), (5, 4), (7, 3), (7, 6)] {
                let trust = Trust::new(n, corrupt, Delivery::Stoppable).unwrap();
                let people = people_for(minimum, &trust);
                // With so many among three servers, one may have far more than the others.
                let many = if n == 3 { 6 * minimum.min(20) } else { 0 };
                for all in 0..=many.max(people + 9) {
                    let spreads = spreads(all, minimum, &trust);
                    assert!(!spreads.is_empty());
                    // The servers with most are those that may have invented them.
                    let hidden = |spread: &Vec<u32>| spread[..n - corrupt].iter().sum::<u32>();
                    let least = spreads.iter().map(hidden).min().unwrap();
                    assert_eq!(least >= minimum, all >= people, "{all}, {minimum} of {trust:?}");
                    let even: Vec<u32> = (0..n as u32).map(|i| (all + i) / n as u32).collect();
                    let needed = more_needed(&even, minimum, &trust);
                    assert_eq!(needed, people.saturating_sub(all), "{all}, {minimum} of {trust:?}");
                }
            }
        }
        let trust = Trust::one_of_three();
        assert_eq!([0, 1, 2, 3, 4, 5].map(|m| people_for(m, &trust)), [1, 2, 3, 5, 6, 8]);
        assert_eq!([16, 17, 18, 2000].map(|m| people_for(m, &trust)), [24, 27, 28, 3124]);
        assert_eq!(more_needed(&[0, 0, 0], PRACTICE, &trust), 0);
        assert_eq!(more_needed(&[], 3, &trust), 0);
        assert_eq!(more_needed(&[3, 2, 0], 3, &trust), 1, "badly spread, five are not enough");
        assert_eq!(more_needed(&[5, 0, 0], 3, &trust), 3);
        assert_eq!(people_for(u32::MAX, &trust), u32::MAX);
    }

    #[test]
    fn a_code_is_found_as_people_type_it() {
        let mut id = RoomId([0; 16]);
        id.0[..5].copy_from_slice(&[0x00, 0x44, 0x32, 0x14, 0xff]);
        assert_eq!(id.code(), "0123-457Z");
        for typed in ["0123-457Z", "o1 23 457z", "OL23457z", " 0i23-457Z "] {
            assert_eq!(RoomId::tidy_code(typed), Some(id.code()), "{typed}");
        }
        for typed in ["", "0123-457", "0123-457ZZ", "0123-457U", "0123-45é"] {
            assert_eq!(RoomId::tidy_code(typed), None, "{typed}");
        }
    }
}
