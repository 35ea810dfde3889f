//! Sizes and limits.

/// Rounds of a cycle: one for each channel, and one for dialing (specification, 3.2).
pub const CYCLE: u64 = CHANNELS as u64 + 1;
/// Channels: a client exchanges messages with so many partners at a time.
pub const CHANNELS: u8 = 4;
/// The first byte of every row. It is never zero: a message that begins with zero is an answer to a
/// poll, which rooms treat otherwise.
pub const VERSION: u8 = 1;
/// Bytes of an address.
pub const ADDRESS: usize = 16;
/// Bytes of a mark.
pub const MARK: usize = 16;
/// Bytes of a contact link's secret.
pub const LINK_SECRET: usize = 16;
/// Bytes of the proof that a call is from the owner of a link.
pub const PROOF: usize = 16;
/// Bytes of the longest name that a caller gives.
pub const NAME: usize = 64;
/// Bytes of the narrowest row: a call must fit.
pub const LEAST_WIDTH: usize = 254;
/// Parts of the longest text.
pub const PARTS: usize = 32;
/// Parts on their way at a time, beyond the first that is not acknowledged.
pub const WINDOW: u32 = 64;
/// Turns of a channel after which a part that was not acknowledged is sent again: an
/// acknowledgement takes two.
pub const AGAIN_AFTER: u64 = 2;
/// Turns for which the partner's last words are acknowledged after the end of a talk.
pub const FAREWELL: u64 = 8;
/// Turns after which a talk that was ended is given up, although the partner did not hear of it.
pub const FORSAKEN: u64 = 256;
/// Turns by which a chain is moved on at most in one step; a talk that slept longer is over.
pub const SLEEP: u64 = 1 << 22;
/// Cycles by which an answer's first one may lie in the past: who was answered moves its chain on
/// by as many steps at once, which must not take long.
pub const LATE: u64 = 1 << 12;
/// Links of a client's own, revoked ones not counted: each is tried on every row of a dial round.
pub const LINKS: usize = 16;
/// Contacts of a client.
pub const CONTACTS: usize = 256;
/// Calls that wait for an answer by the user, of all links.
pub const CALLS: usize = 32;
/// The same, of one link.
pub const CALLS_OF_LINK: usize = 8;
/// Dial rounds in which an answer is given, until the caller is heard.
pub const ANSWERS: u32 = 64;
/// Calls that are remembered after they were answered or declined.
pub const SEEN: usize = 256;
/// Messages that are kept of a contact.
pub const HISTORY: usize = 1000;
/// Bytes of the texts that are kept of a contact: what waits and the newest stay in any case.
pub const HISTORY_BYTES: usize = 1 << 18;
/// Bytes of the texts that are kept of all contacts; the same.
pub const ALL_HISTORIES: usize = 1 << 22;
/// Messages that wait or are on their way to one contact.
pub const OUTGOING: usize = 100;
/// Bytes of the texts that wait or are on their way to all contacts.
pub const OUTGOING_BYTES: usize = 1 << 20;
/// Rounds whose rows are awaited at a time by one talk.
pub const AWAITED: usize = 8;
/// Rounds before the last that is over, for which it is told that they brought nothing out.
pub const STOPPED: u64 = 8;
