//! What the bindings compute, without the browser.

use ostrakon_client::asking::{self, Around, Bearer, Drafted, Guest, Wish};
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_decide::draft::{BALLOTS, LABEL_BYTES, OPTIONS, PEOPLE, QUESTION_BYTES};
use ostrakon_decide::{
    self as decide, Archive, Chain, DecisionId, Draft, Flaw, GatheringId, Operators, Refused,
    Report,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::inner::json;
use crate::randomness::generator;

fn text<T: std::fmt::Display>(error: T) -> String {
    error.to_string()
}

fn parse<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("{what} is malformed: {error}"))
}

pub fn decision_id(text: &str) -> Result<DecisionId, String> {
    DecisionId::from_hex(text).ok_or_else(|| "a decision's id has 32 hexadecimal digits".to_owned())
}

pub fn draft(text: &str) -> Result<Draft, String> {
    let draft: Draft = parse("the draft", text)?;
    draft.validate().map_err(self::text)?;
    Ok(draft)
}

#[derive(Serialize)]
struct Limits {
    people: [usize; 2],
    options: usize,
    ballots: usize,
    question: usize,
    label: usize,
}

pub fn draft_limits() -> String {
    json(&Limits {
        people: [*PEOPLE.start(), *PEOPLE.end()],
        options: *OPTIONS.end(),
        ballots: *BALLOTS.end(),
        question: QUESTION_BYTES,
        label: LABEL_BYTES,
    })
}

fn wish(wish: &str, guests: &str) -> Result<(Wish, Vec<Guest>), String> {
    Ok((parse("the wish", wish)?, parse("the list of people", guests)?))
}

/// The word for a limit.
fn word(flaw: Flaw) -> Option<String> {
    serde_json::to_value(flaw).ok()?.as_str().map(str::to_owned)
}

pub fn flaw(wish: &str, guests: &str, more: usize, now: u64) -> Result<Option<String>, String> {
    let (wish, guests) = self::wish(wish, guests)?;
    Ok(wish.check(&guests, more, now).err().and_then(|invalid| word(invalid.flaw)))
}

pub fn around(
    operators: &Operators,
    creator: &SigningKey,
    gathering: Option<&str>,
) -> Result<Around, String> {
    let wrong = || "a join link's id has 32 hexadecimal digits".to_owned();
    let gathering = gathering.map(|id| GatheringId::from_hex(id).ok_or_else(wrong)).transpose()?;
    Ok(Around { creator: creator.verifying_key(), servers: operators.digest, gathering })
}

#[derive(Serialize)]
struct Made {
    id: String,
    draft: String,
    invitations: Vec<Option<String>>,
}

pub fn made_draft(wish: &str, guests: &str, around: Around, now: u64) -> Result<String, String> {
    let (wish, guests) = self::wish(wish, guests)?;
    let made = wish.draft(&guests, around, now, &mut generator()?).map_err(text)?;
    let Drafted { draft, invitations } = made;
    let secret = |invitation: &decide::Invitation| invitation.to_text();
    let invitations = invitations.iter().map(|invitation| invitation.as_ref().map(secret));
    let (id, invitations) = (draft.id().to_hex(), invitations.collect());
    Ok(json(&Made { id, draft: json(&draft), invitations }))
}

#[derive(Deserialize)]
struct BearerJson {
    name: String,
    code: String,
}

#[derive(Serialize)]
struct CalledJson {
    code: String,
    called: String,
}

pub fn told_apart(bearers: &str) -> Result<String, String> {
    let bearers: Vec<BearerJson> = parse("the list of names", bearers)?;
    let bearers = bearers.into_iter().map(|BearerJson { name, code }| Bearer { name, code });
    let bearers: Vec<_> = bearers.collect();
    let codes = asking::told_apart(&bearers);
    let called = |(bearer, code): (&Bearer, String)| CalledJson {
        called: asking::called(&bearer.name, &code),
        code,
    };
    Ok(json(&bearers.iter().zip(codes).map(called).collect::<Vec<_>>()))
}

pub fn table_rows(people: u16, options: u16) -> Result<String, String> {
    let function = decide::Function::Tally;
    let rows = function.table(usize::from(people), usize::from(options));
    let meaning =
        |output: &u32| match function.meaning(usize::from(people), usize::from(options), *output) {
            Some(decide::Meaning::Counts(counts)) => Some(counts),
            _ => None,
        };
    match function.objection(usize::from(people), usize::from(options)) {
        Some(objection) => Err(objection.to_string()),
        None => Ok(json(&rows.iter().filter_map(meaning).collect::<Vec<_>>())),
    }
}

#[derive(Serialize)]
struct View {
    #[serde(flatten)]
    report: Report,
    missing: Vec<u16>,
    answered: usize,
    remaining: usize,
    creator: String,
    owners: Vec<Option<String>>,
    seats: Vec<decide::Seat>,
}

pub fn view(chain: &Chain) -> String {
    json(&View {
        report: Report::new(chain, None, &[]),
        missing: chain.missing(),
        answered: chain.answered(),
        remaining: chain.remaining(),
        creator: chain.draft().creator.to_hex(),
        owners: chain
            .people()
            .iter()
            .map(|person| person.owner().map(|owner| owner.to_hex()))
            .collect(),
        seats: chain.draft().people.iter().map(|person| person.seat).collect(),
    })
}

/// What an archive turns out to be. One that is refused is none of these.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Examination {
    /// Everything in it holds.
    Report(Box<Report>),
    /// Another release wrote it, in a format of this name.
    Version(String),
}

pub fn verify_archive(archive: &str, pinned: Option<&str>) -> Result<String, String> {
    let wrong = || "the digest of the servers has 64 hexadecimal digits".to_owned();
    let pinned = pinned.map(|digest| Digest::from_hex(digest).ok_or_else(wrong)).transpose()?;
    Ok(json(&match Archive::verify(archive, pinned.as_ref(), &mut generator()?) {
        Ok(report) => Examination::Report(Box::new(report)),
        Err(Refused::Version(format)) => Examination::Version(format),
        Err(refused) => return Err(refused.to_string()),
    }))
}

#[cfg(test)]
mod tests;
