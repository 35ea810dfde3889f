//! How long the steps of a connection take.

use std::time::Duration;

/// How long things take.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Within which a connection must be made, authenticated and greeted.
    pub handshake: Duration,
    /// After which a link that has nothing to send shows that it lives.
    pub ping: Duration,
    /// After which a link on which nothing arrives is given up.
    pub dead_after: Duration,
    /// After which a peer that cannot be reached directly is sought by way of others.
    pub relay_after: Duration,
    /// The longest pause between two attempts to connect.
    pub retry: Duration,
    /// How often it is considered what must be asked for again.
    pub tick: Duration,
    /// After which [`ostrakon_party::Channel::patience`] resolves.
    pub patience: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(5),
            ping: Duration::from_secs(1),
            dead_after: Duration::from_secs(8),
            relay_after: Duration::from_secs(1),
            retry: Duration::from_secs(2),
            tick: Duration::from_millis(200),
            patience: Duration::from_secs(3),
        }
    }
}
