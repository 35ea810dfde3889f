//! What is kept of a fault, and how a third person judges it.
//!
//! Evidence is made of what the culprit signed, and judged with nothing but the servers' keys.
//! There are two findings. *Proved*: no honest server signs this. *Signed*: the culprit did say it,
//! and it broke a rule by what had been announced before; whoever holds the log can see that, the
//! evidence alone does not show it.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostrakon_crypto::Digest;
use ostrakon_job::Job;
use ostrakon_mixing::engine::slot_class;
use ostrakon_mixing::room::Servers;
use ostrakon_mixing::{engine, engines};
use ostrakon_party::{
    Header, Instance, InstanceKind, PartyId, Recipient, Roster, SignedHeader, wire,
};
use serde::{Deserialize, Serialize};

use crate::jobs;
use crate::ledger::steps::{self, ControlStep};
use crate::state::announcement::{Announcement, Body, MOST_SLOTS};
use crate::state::{SCHEDULER, room_class};
use ostrakon_protocol::encoding::base64;

/// The name of the files' format.
const FORMAT: &str = "ostrakon-fault-1";
/// Bytes of the longest file that is read.
pub const LONGEST_FILE: usize = 512 << 20;

/// What a server keeps of a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Evidence {
    /// The engine's own.
    Engine(Vec<u8>),
    /// Two announcements under one number.
    Contradiction(Box<[SignedHeader; 2]>),
    /// An announcement or echo longer than any, by the length that its header names.
    TooLong(SignedHeader),
    /// An announcement addressed to one server.
    Private(SignedHeader),
    /// An announcement that breaks the rules, and its bytes.
    Announcement(SignedHeader, Vec<u8>),
    /// An echo of what was never announced, and its bytes.
    Echo(SignedHeader, Vec<u8>),
}

/// What evidence amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Finding {
    /// No honest server signs this.
    Proved,
    /// The culprit signed it; that it breaks a rule follows from what was announced before.
    Signed,
    /// The evidence shows nothing.
    Unproven,
}

/// A fault as a file that a third person can check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FaultFile {
    /// Always `ostrakon-fault-1`.
    pub format: String,
    /// The servers: session and keys.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub servers: Servers,
    /// When it was seen, in seconds since 1970. Nobody signed this.
    pub seen_at: u64,
    /// Party number of the server that misbehaved.
    pub culprit: u8,
    /// What it did, in words. Nobody signed this.
    pub what: String,
    /// What the evidence amounts to, as the server that wrote the file sees it.
    pub finding: Finding,
    /// The evidence, base64url.
    #[serde(with = "base64")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub evidence: Vec<u8>,
}

impl FaultFile {
    /// The file of a fault.
    pub(crate) fn new(
        servers: &Servers,
        jobs: &[Arc<dyn Job>],
        row: ostrakon_store::FaultRow,
    ) -> Self {
        let finding = judge(servers, jobs, row.culprit, &row.evidence);
        Self {
            format: FORMAT.into(),
            servers: servers.clone(),
            seen_at: row.seen_at / 1000,
            culprit: row.culprit.0,
            what: row.what,
            finding,
            evidence: row.evidence,
        }
    }

    /// Reads a file and judges its evidence, trusting nothing in it. `pinned` is the digest of the
    /// servers that room links carry; without it the finding is about *some* servers. They do these
    /// `jobs`.
    ///
    /// # Errors
    /// What is wrong with the file, in words.
    pub fn verify(
        text: &str,
        pinned: Option<&Digest>,
        jobs: &[Arc<dyn Job>],
    ) -> Result<(Self, Finding), String> {
        let file: Self = serde_json::from_str(text)
            .map_err(|error| format!("this is no fault's file: {error}"))?;
        if file.format != FORMAT {
            return Err(format!(
                "the file's format is {:?}; this release reads {FORMAT:?}",
                file.format
            ));
        }
        if pinned.is_some_and(|digest| *digest != file.servers.digest()) {
            return Err("the fault is of other servers than the given digest names".into());
        }
        if usize::from(file.culprit) >= file.servers.keys.len() {
            return Err("the file accuses a server that it does not list".into());
        }
        let finding = judge(&file.servers, jobs, PartyId(file.culprit), &file.evidence);
        Ok((file, finding))
    }
}

/// What `evidence` says about `culprit` to somebody who knows the servers' keys and jobs.
pub(crate) fn judge(
    servers: &Servers,
    jobs: &[Arc<dyn Job>],
    culprit: PartyId,
    evidence: &[u8],
) -> Finding {
    let Ok(evidence) = wire::decode::<Evidence>(evidence) else { return Finding::Unproven };
    let roster = Roster { session: servers.session, keys: servers.keys.clone() };
    let of_culprit =
        |signed: &SignedHeader| signed.header.from == culprit && roster.vouches(signed);
    let proved = match &evidence {
        Evidence::Engine(bytes) => {
            let fault = engine::Fault { culprit, what: String::new(), evidence: bytes.clone() };
            engines::verify_evidence(servers, &fault)
        }
        Evidence::Contradiction(pair) => {
            let [a, b] = &**pair;
            of_culprit(a)
                && of_culprit(b)
                && a.contradicts(b)
                && step(&a.header) == Some(ControlStep::Announce)
        }
        Evidence::TooLong(signed) => {
            let longest = step(&signed.header).and_then(steps::longest);
            of_culprit(signed) && longest.is_some_and(|longest| signed.header.length > longest)
        }
        Evidence::Private(signed) => {
            let announcement = step(&signed.header) == Some(ControlStep::Announce);
            of_culprit(signed) && announcement && signed.header.to != Recipient::All
        }
        Evidence::Announcement(signed, body) => {
            let said = of_culprit(signed) && is_body(&signed.header, body);
            if !said || step(&signed.header) != Some(ControlStep::Announce) {
                return Finding::Unproven;
            }
            let read = Announcement::decode(body, servers.keys.len());
            let number = signed.header.tag.instance.number;
            let parties = servers.keys.len();
            if read.is_ok_and(|read| !is_never_valid(jobs, culprit, number, &read, parties)) {
                return Finding::Signed;
            }
            true
        }
        Evidence::Echo(signed, body) => {
            let said = of_culprit(signed) && is_body(&signed.header, body);
            said && step(&signed.header) == Some(ControlStep::Echo)
                && !is_honest_echo(&roster, &signed.header, body)
        }
    };
    if proved { Finding::Proved } else { Finding::Unproven }
}

fn is_body(header: &Header, body: &[u8]) -> bool {
    header.length == body.len() as u64 && header.digest == Header::digest_of(body)
}

/// What a header of the servers' logs is.
fn step(header: &Header) -> Option<ControlStep> {
    let author = PartyId(header.tag.instance.scope[15]);
    [ControlStep::Announce, ControlStep::Echo]
        .into_iter()
        .find(|step| step.of(steps::instance(author, header.tag.instance.number)) == header.tag)
}

/// Whether no honest server makes this announcement, whatever was announced before. Part of
/// [`crate::state::World::judge`].
fn is_never_valid(
    jobs: &[Arc<dyn Job>],
    author: PartyId,
    number: u64,
    announcement: &Announcement,
    parties: usize,
) -> bool {
    let out_of_turn = announcement.after.get(author.index()) != Some(&number);
    out_of_turn
        || match &announcement.body {
            Body::RoomCreated(descriptor) => {
                descriptor.validate().is_err() || room_class(descriptor, parties) != author
            }
            Body::BatchPlanned { .. }
            | Body::EpochOpened { .. }
            | Body::EpochClosed { .. }
            | Body::EpochVoided { .. } => author != SCHEDULER,
            Body::Assigned { slots, .. } => {
                let foreign = slots.iter().any(|(slot, _)| slot_class(*slot, parties) != author);
                let numbers: BTreeSet<_> = slots.iter().map(|(slot, _)| slot).collect();
                let keys: BTreeSet<_> = slots.iter().map(|(_, key)| key).collect();
                let twice = numbers.len() < slots.len() || keys.len() < slots.len();
                foreign || twice || slots.is_empty() || slots.len() > MOST_SLOTS
            }
            Body::Hosted { action, .. } => {
                author != SCHEDULER || action.action.deed.validate().is_err()
            }
            Body::Job { job, subject, word } => {
                jobs::is_never_valid(jobs, author, (*job, subject, word))
            }
            Body::RoomClosed(_)
            | Body::BatchReady { .. }
            | Body::BatchDropped { .. }
            | Body::EpochDue { .. } => false,
        }
}

/// Whether an echo's bytes are the header of something that its author announced to all.
fn is_honest_echo(roster: &Roster, echo: &Header, body: &[u8]) -> bool {
    let Instance { kind: InstanceKind::Control, scope, number } = echo.tag.instance else {
        return false;
    };
    let author = PartyId(scope[15]);
    let tag = ControlStep::Announce.of(steps::instance(author, number));
    wire::decode::<SignedHeader>(body).is_ok_and(|signed| {
        let header = &signed.header;
        header.tag == tag
            && header.from == author
            && header.to == Recipient::All
            && roster.vouches(&signed)
    })
}

#[cfg(test)]
mod tests;
