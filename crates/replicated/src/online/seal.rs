//! Sealing (Ruffle §5.1.2 with the fixes of `docs/spec/ruffle.md`, "Sealing"): what
//! [`ostrakon_threeparty::seal`] needs to know of Ruffle's submissions, and what follows for them.

use futures::future::pending;
use ostrakon_crypto::{Digest, Signature, VerifyingKey};
use ostrakon_party::wire;
use ostrakon_threeparty::Marks;
use ostrakon_threeparty::marks::epoch_mark;
use ostrakon_threeparty::seal::{Accepted, Scope, Sealable, Taken};
use serde::{Deserialize, Serialize};

use crate::accusation::fault::{Fault, Statement};
use crate::client::Submission;
use crate::messages::{EpochSpec, Kind};
use crate::online::unmixed::Unmixed;
use crate::run::Run;
use crate::slots::{masked_digest, submission_digest_of, submission_digests};

pub use ostrakon_threeparty::seal::{agree, digest, guaranteed, vote};

/// A slot that was given out, as one server knows it.
pub type Slot = ostrakon_threeparty::seal::Slot<Submission>;

/// The agreed submissions.
pub struct Sealed<'a> {
    /// Accepted slots in ascending order, with the digests of their submissions.
    pub slots: Accepted,
    /// The submissions, in the same order.
    pub submissions: Vec<Taken<'a, Submission>>,
    /// All parties' votes, for evidence.
    pub votes: [Statement; 3],
}

/// What an epoch seals.
pub fn scope(spec: &EpochSpec) -> Scope {
    Scope { context: spec.context, width: spec.batch.shape.width }
}

impl Sealable for Submission {
    fn content(&self) -> Digest {
        masked_digest(self.masked())
    }

    fn signature(&self) -> Signature {
        Submission::signature(self)
    }

    fn listed(context: &Digest, slot: u32, owner: &VerifyingKey, content: &Digest) -> Digest {
        submission_digest_of(context, slot, &owner.0, content)
    }

    fn all_as_listed(context: &Digest, held: &[(&Slot, &Self)]) -> Vec<Digest> {
        submission_digests(context, held.len(), |place| {
            let (slot, submission) = held[place];
            (slot.slot, &slot.owner.0, submission.masked())
        })
    }

    fn is_wide(&self, width: usize) -> bool {
        self.masked().len() == width
    }
}

/// The mark of how sealing ended.
pub const AMONG_ALL: &str = "sealed";
/// The mark of how the seal of the two honest servers ended (T2).
pub const AMONG_TWO: &str = "trusted slots";

/// How sealing ended at a server, for good (E4, T2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has voted, or may have voted, for the list with this digest.
    Sealed(Digest),
    /// So few submissions could be vouched for, less than the minimum. The epoch is over.
    TooFew(u32),
    /// A fault came first; it votes for no list any more.
    Nothing(Box<Fault>),
}

/// What a server tells the others of its standing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Told {
    /// [`Standing::Sealed`].
    Sealed(Digest),
    /// [`Standing::TooFew`].
    TooFew(u32),
    /// [`Standing::Nothing`].
    Nothing,
}

const NOTHING: u8 = 0;
const TOO_FEW: u8 = 1;

impl Standing {
    /// Marks how sealing ends here, unless it has ended before; what stands is returned.
    ///
    /// # Errors
    /// [`Unmixed::Marks`].
    pub fn record(self, run: &Run, marks: &dyn Marks, mark: &str) -> Result<Self, Unmixed> {
        let name = epoch_mark(&run.subject.instance(), mark);
        let standing = marks.record(&name, &self.encode()).map_err(Unmixed::Marks)?;
        Self::decode(&standing).ok_or_else(|| Unmixed::Marks(format!("{name} is damaged")))
    }

    /// What stands, if the store can look without recording.
    ///
    /// # Errors
    /// [`Unmixed::Marks`].
    pub fn of(run: &Run, marks: &dyn Marks, mark: &str) -> Result<Option<Self>, Unmixed> {
        let name = epoch_mark(&run.subject.instance(), mark);
        let standing = marks.standing(&name).map_err(Unmixed::Marks)?;
        Ok(standing.and_then(|standing| Self::decode(&standing)))
    }

    fn encode(&self) -> Vec<u8> {
        match self {
            // A digest has a length that nothing else here has.
            Self::Sealed(digest) => digest.0.to_vec(),
            Self::TooFew(count) => [&[TOO_FEW][..], &count.to_le_bytes()].concat(),
            Self::Nothing(fault) => [&[NOTHING][..], &fault.encode()].concat(),
        }
    }

    /// Reads a mark.
    pub fn decode(mark: &[u8]) -> Option<Self> {
        if let Ok(digest) = mark.try_into() {
            return Some(Self::Sealed(Digest(digest)));
        }
        let (kind, rest) = mark.split_first()?;
        match *kind {
            TOO_FEW => Some(Self::TooFew(u32::from_le_bytes(rest.try_into().ok()?))),
            NOTHING => Some(Self::Nothing(Box::new(Fault::decode(rest).ok()?))),
            _ => None,
        }
    }

    /// Tells both peers, signed. It follows from a mark alone, so it is the same after a crash.
    pub fn tell(&self, run: &Run) {
        let told = match self {
            Self::Sealed(digest) => Told::Sealed(*digest),
            Self::TooFew(count) => Told::TooFew(*count),
            Self::Nothing(_) => Told::Nothing,
        };
        run.send_all(Kind::SealStanding, wire::encode(&told));
    }
}

/// What a peer that is proved honest says of its standing.
pub async fn told_by(run: &Run, honest: u8) -> Told {
    if let Ok(received) = run.receive(honest, Kind::SealStanding).await
        && let Ok(told) = wire::decode(&received.body)
    {
        return told;
    }
    pending().await
}
