//! What exchanges among three cost in bytes and rounds.

/// No signed header takes more bytes than this in a message body.
pub const SIGNED_HEADER: u64 = 256;

/// Servers other than the sender, counted for each sender: messages of an exchange of everybody
/// with everybody.
pub const DIRECTED_LINKS: u64 = 6;

/// Bytes sent by all three servers together: at least `table`, at most `table + constant`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The part that grows with the table.
    pub table: u64,
    /// A bound on the part that does not.
    pub constant: u64,
}

impl Cost {
    /// Whether a metered sum is what the formula says.
    #[must_use]
    pub fn admits(&self, bytes: u64) -> bool {
        (self.table..=self.table + self.constant).contains(&bytes)
    }
}

impl std::ops::Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost { table: self.table + other.table, constant: self.constant + other.constant }
    }
}

/// An authenticated broadcast by all three of statements of `body` bytes: the statements, then two
/// signed headers from each to each.
pub const fn broadcast(body: u64) -> u64 {
    DIRECTED_LINKS * (body + 2 * SIGNED_HEADER)
}

/// Rounds of an authenticated broadcast.
pub const BROADCAST_ROUNDS: u32 = 2;
