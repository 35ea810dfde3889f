//! The servers agree on the uploads (`docs/spec/graph.md`, L1): an upload counts if two servers
//! hold it with its maker's signature and no other one with that signature is shown.

use bytes::Bytes;
use futures::future::{Either, select};
use ostrakon_crypto::{Digest, Signature, Transcript, VerifyingKey};
use ostrakon_party::Length;
use ostrakon_party::Received;

use crate::owner::{Maps, Upload, upload_digest};
use crate::ruffle2::fault::Stop;
use crate::ruffle2::journal::{Journal, bind};
use crate::ruffle2::run::Run;
use crate::ruffle2::seeds::JobName;
use crate::ruffle2::steps::{Kind, Rule};
use crate::spec::JobSpec;

/// Bytes of an entry of a list: the body's digest and the maker's signature; zeros for none.
const ENTRY: usize = 32 + 64;

/// A place for an upload: who makes it, and how long it is.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The maker.
    pub owner: VerifyingKey,
    /// Bytes of the body.
    pub bytes: usize,
    /// Rows of each map; none if the body is a masked table.
    pub rows: Option<usize>,
}

/// A job's places: its lists, then the querier's input.
pub fn places(spec: &JobSpec) -> Vec<Place> {
    let lists = spec.lists.iter().enumerate().map(|(list, of)| {
        let rows = spec.rows(list);
        Place { owner: of.owner, bytes: 12 * rows, rows: Some(rows) }
    });
    let input =
        spec.querier.map(|owner| Place { owner, bytes: 8 * spec.vertices as usize, rows: None });
    lists.chain(input).collect()
}

/// Whether an upload may be kept: by form, length and signature, as one server can tell by itself.
#[must_use]
pub fn check(run: &Run, job: &JobName, place: u32, of: &Place, upload: &Upload) -> bool {
    let formed = upload.body.len() == of.bytes
        && of.rows.is_none_or(|rows| Maps::decode(&upload.body, rows).is_some());
    formed && upload.verifies(&run.party.roster.session, job, place, &of.owner)
}

/// Agrees on the uploads. Returns the bodies of those that count, by place.
///
/// # Errors
/// As a broadcast and a vote; [`Stop::Spent`] if other uploads were sealed before.
pub async fn seal(
    run: &Run,
    spec: &JobSpec,
    uploads: &[Option<Upload>],
    journal: &dyn Journal,
) -> Result<Vec<Option<Bytes>>, Stop> {
    let (job, places) = (spec.name(), places(spec));
    let own: Vec<Option<&Upload>> = (0..)
        .zip(&places)
        .map(|(place, of)| {
            let upload = uploads.get(place as usize)?.as_ref()?;
            check(run, &job, place, of, upload).then_some(upload)
        })
        .collect();
    let body: Vec<u8> = own.iter().flat_map(|upload| entry(*upload)).collect();
    let rule = Rule::exactly(body.len() as u64);
    let lists = run.broadcast(Kind::Lists, 0, body, rule).await?;
    let mut sealed = Vec::new();
    for (place, of) in (0..).zip(&places) {
        let accepted = accepted(run, &job, place, of, &lists);
        sealed.push(match accepted {
            Some(digest) => Some((digest, body_of(run, place, of, &digest, &lists, &own).await)),
            None => None,
        });
    }
    let mut transcript = Transcript::new("ostrakon/v1/graph/sealed uploads");
    for place in &sealed {
        transcript.field(place.as_ref().map_or(&[], |(digest, _)| &digest.0[..]));
    }
    let sealed_digest = transcript.finish();
    // From this mark on no seed is given out ([`crate::stock::Stock::issue`]).
    bind(journal, sealed_mark(spec.number), &sealed_digest)?;
    run.vote(0, "the sealed uploads", &sealed_digest).await?;
    Ok(sealed.into_iter().map(|place| place.map(|(_, body)| body)).collect())
}

/// The name of the mark that a job's uploads are sealed.
pub fn sealed_mark(job: u64) -> String {
    format!("job {job} sealed")
}

fn entry(upload: Option<&Upload>) -> Vec<u8> {
    match upload {
        Some(upload) => {
            [&crate::owner::body_digest(&upload.body).0[..], &upload.signature.0].concat()
        }
        None => vec![0; ENTRY],
    }
}

/// What a server's list says of a place, if the maker's signature is on it.
fn listed(run: &Run, job: &JobName, place: u32, of: &Place, list: &Received) -> Option<Digest> {
    let entry = &list.body[place as usize * ENTRY..][..ENTRY];
    let digest = Digest(entry[..32].try_into().expect("32 bytes"));
    let signature = Signature(entry[32..].try_into().expect("64 bytes"));
    let signed = upload_digest(&run.party.roster.session, job, place, &digest);
    of.owner.verifies(&signed, &signature).then_some(digest)
}

/// The digest that counts for a place: listed by two servers, and no other one listed.
fn accepted(
    run: &Run,
    job: &JobName,
    place: u32,
    of: &Place,
    lists: &[Received; 3],
) -> Option<Digest> {
    let listed: Vec<Digest> =
        lists.iter().filter_map(|list| listed(run, job, place, of, list)).collect();
    let first = *listed.first()?;
    (listed.len() >= 2 && listed.iter().all(|digest| *digest == first)).then_some(first)
}

/// An upload's body, which who lacks it gets from those who listed it.
async fn body_of(
    run: &Run,
    place: u32,
    of: &Place,
    digest: &Digest,
    lists: &[Received; 3],
    own: &[Option<&Upload>],
) -> Bytes {
    let at = place as usize * ENTRY;
    let lists_it = |party: u8| lists[usize::from(party)].body[at..at + 32] == digest.0;
    if let Some(upload) = own[place as usize] {
        let body = Bytes::from(upload.body.clone());
        for peer in run.peers().into_iter().filter(|peer| !lists_it(*peer)) {
            run.send(peer, Kind::Forward, place, body.clone());
        }
        return body;
    }
    let [a, b] = run.peers();
    let (from_a, from_b) =
        (forwarded(run, place, of, digest, a), forwarded(run, place, of, digest, b));
    match select(Box::pin(from_a), Box::pin(from_b)).await {
        Either::Left((body, _)) | Either::Right((body, _)) => body,
    }
}

/// A holder's body of the agreed digest. Anything else counts as none: of two holders one is
/// honest.
async fn forwarded(run: &Run, place: u32, of: &Place, digest: &Digest, from: u8) -> Bytes {
    let rule = Rule { length: Length::Exactly(of.bytes as u64), content: |_| true };
    match run.receive(from, Kind::Forward, place, rule).await {
        Ok(received) if crate::owner::body_digest(&received.body) == *digest => received.body,
        _ => futures::future::pending().await,
    }
}
