//! What a server has committed itself to about an epoch's end, over crashes.
//!
//! Two marks, each written before the message that follows from it. *Outcome* is "ready", for one
//! digest of β_out, or "stopped", with the fault, or "disputed", with the conflict that this server
//! raises a dispute about: a server that has signed a Ready never stops on its own nor raises a
//! dispute, and one that has stopped or raised one never signs a Ready. *Certificate* is either the
//! three votes, or a fault, which says that this server has accused and takes the votes from the
//! other honest server alone.

use ostrakon_crypto::Digest;
use ostrakon_party::{SignedHeader, wire};
use ostrakon_threeparty::Marks;
use ostrakon_threeparty::marks::epoch_mark;

use crate::accusation::blame::Conflict;
use crate::accusation::fault::Fault;
use crate::online::unmixed::Unmixed;
use crate::run::Run;

/// The marks of one epoch.
#[derive(Clone, Copy)]
pub struct Outcome<'a> {
    run: &'a Run,
    marks: &'a dyn Marks,
}

/// What stands on record.
pub enum Standing {
    /// Ready for this digest of β_out.
    Ready(Digest),
    /// Stopped for this fault.
    Stopped(Box<Fault>),
    /// A dispute about this conflict is raised.
    Disputed(Box<Conflict>),
}

const READY: u8 = 1;
const STOPPED: u8 = 0;
const DISPUTED: u8 = 2;

/// Whether a mark says "ready", and says neither "stopped" nor "disputed".
pub fn is_ready(mark: &[u8]) -> bool {
    !matches!(mark.first(), Some(&(STOPPED | DISPUTED)))
}

impl<'a> Outcome<'a> {
    /// The marks of a run.
    pub fn new(run: &'a Run, marks: &'a dyn Marks) -> Self {
        Self { run, marks }
    }

    fn record(&self, what: &str, value: &[u8]) -> Result<Vec<u8>, Unmixed> {
        let name = epoch_mark(&self.run.subject.instance(), what);
        self.marks.record(&name, value).map_err(Unmixed::Marks)
    }

    fn outcome(&self, value: &[u8]) -> Result<Standing, Unmixed> {
        let standing = self.record("outcome", value)?;
        let damaged = || Unmixed::Marks("the mark of an epoch's outcome is damaged".to_owned());
        let (kind, rest) = standing.split_first().ok_or_else(damaged)?;
        if *kind == READY {
            return Ok(Standing::Ready(Digest(rest.try_into().map_err(|_| damaged())?)));
        }
        if *kind == DISPUTED {
            let conflict = wire::decode(rest).map_err(|_| damaged())?;
            return Ok(Standing::Disputed(Box::new(conflict)));
        }
        Ok(Standing::Stopped(Box::new(Fault::decode(rest).map_err(|_| damaged())?)))
    }

    /// Marks that this server is about to sign a Ready for β_out, unless it has stopped.
    ///
    /// # Errors
    /// [`Unmixed::Marks`].
    pub fn ready(&self, digest: &Digest) -> Result<Standing, Unmixed> {
        self.outcome(&[&[READY], &digest.0[..]].concat())
    }

    /// Marks that this server stops, unless it may have signed a Ready.
    ///
    /// # Errors
    /// [`Unmixed::Marks`].
    pub fn stopped(&self, fault: &Fault) -> Result<Standing, Unmixed> {
        self.outcome(&[&[STOPPED], &fault.encode()[..]].concat())
    }

    /// Marks that this server is about to raise a dispute, unless it may have signed a Ready.
    ///
    /// # Errors
    /// [`Unmixed::Marks`].
    pub fn disputing(&self, conflict: &Conflict) -> Result<Standing, Unmixed> {
        self.outcome(&[&[DISPUTED], &wire::encode(conflict)[..]].concat())
    }

    /// Whether, by what stands on record, this server holds all three votes, with which the output
    /// is opened. A store that cannot look says no.
    ///
    /// # Errors
    /// [`Unmixed::Marks`].
    pub fn is_certified(&self) -> Result<bool, Unmixed> {
        let name = epoch_mark(&self.run.subject.instance(), "certificate");
        let standing = self.marks.standing(&name).map_err(Unmixed::Marks)?;
        Ok(standing.is_some_and(|mark| mark.first() == Some(&READY)))
    }

    /// Marks the votes with which this server opens, unless it has accused somebody before.
    ///
    /// # Errors
    /// [`Unmixed::Marks`].
    pub fn certified(&self, votes: &[SignedHeader; 3]) -> Result<Decision, Unmixed> {
        self.decision(&[&[READY], &wire::encode(votes)[..]].concat())
    }

    /// Marks that this server is about to accuse, unless it has certified before.
    ///
    /// # Errors
    /// [`Unmixed::Marks`].
    pub fn accusing(&self, fault: &Fault) -> Result<Decision, Unmixed> {
        self.decision(&[&[STOPPED], &fault.encode()[..]].concat())
    }

    fn decision(&self, value: &[u8]) -> Result<Decision, Unmixed> {
        let standing = self.record("certificate", value)?;
        let damaged = || Unmixed::Marks("the mark of an epoch's certificate is damaged".to_owned());
        let (kind, rest) = standing.split_first().ok_or_else(damaged)?;
        if *kind == READY {
            return Ok(Decision::Certified(Box::new(wire::decode(rest).map_err(|_| damaged())?)));
        }
        Ok(Decision::Accused(Box::new(Fault::decode(rest).map_err(|_| damaged())?)))
    }
}

/// What a server that is ready has decided on.
pub enum Decision {
    /// To open, with these votes.
    Certified(Box<[SignedHeader; 3]>),
    /// To accuse for this fault, and to open only together with the other honest server.
    Accused(Box<Fault>),
}
