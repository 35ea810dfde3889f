//! What a round is for (specification, 3.2).

use crate::params::{CHANNELS, CYCLE};

/// What the rows of a round are for. It follows from the round's number alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Those who talk on this channel write to each other.
    Channel(u8),
    /// Those who begin or accept a conversation say so.
    Dialing,
}

impl Turn {
    /// Of a round.
    pub fn of(round: u64) -> Self {
        match u8::try_from(round % CYCLE) {
            Ok(channel) if channel < CHANNELS => Turn::Channel(channel),
            _ => Turn::Dialing,
        }
    }
}

/// The cycle that a round belongs to. Chains of keys go on by one step in each.
pub fn cycle_of(round: u64) -> u64 {
    round / CYCLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cycle_has_every_channel_and_one_round_for_dialing() {
        let turns: Vec<_> = (5..10).map(Turn::of).collect();
        assert_eq!(turns[4], Turn::Dialing);
        let channels = [0, 1, 2, 3].map(Turn::Channel);
        assert_eq!(turns[..4], channels);
        assert!((5..10).all(|round| cycle_of(round) == 1));
    }
}
