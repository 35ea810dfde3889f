//! What a server did wrong, and what convicts it (spec 8).

use ostrakon_party::PartyId;
use serde::{Deserialize, Serialize};

use crate::block::{SignedBlock, SignedHeader, Vote, shares_hold};
use crate::keys::Keys;
use crate::params::Params;

/// What a server did wrong. Silence, delay and differing views are nothing wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// A message that nobody honest sends. It convicts nobody, because nothing shows a third
    /// person who sent it.
    Malformed(PartyId),
    /// An author signed two blocks for one place.
    TwoBlocks(SignedHeader, SignedHeader),
    /// A server voted for two blocks in one place.
    TwoVotes(Vote, Vote),
    /// An author signed a block with a share that is not its own.
    Share(Box<SignedBlock>),
}

impl Fault {
    /// Who did it, as far as this server knows.
    #[must_use]
    pub fn culprit(&self) -> PartyId {
        match self {
            Fault::Malformed(party) => *party,
            Fault::TwoBlocks(first, _) => first.header.author,
            Fault::TwoVotes(first, _) => first.voter,
            Fault::Share(signed) => signed.block.author,
        }
    }

    /// Whom this convicts in the eyes of a third person who has the public keys; `None` if it does
    /// not.
    #[must_use]
    pub fn convicts(&self, params: &Params, keys: &impl Keys) -> Option<PartyId> {
        let proven = match self {
            Fault::Malformed(_) => false,
            Fault::TwoBlocks(a, b) => {
                let (first, second) = (&a.header, &b.header);
                first.author == second.author
                    && first.round == second.round
                    && first != second
                    && a.verifies(params, keys)
                    && b.verifies(params, keys)
            }
            Fault::TwoVotes(a, b) => {
                a.voter == b.voter
                    && a.block.slot() == b.block.slot()
                    && a.block.digest != b.block.digest
                    && a.verifies(params, keys)
                    && b.verifies(params, keys)
            }
            Fault::Share(signed) => {
                signed.header().verifies(params, keys) && !shares_hold(&signed.block, params, keys)
            }
        };
        proven.then(|| self.culprit())
    }
}
