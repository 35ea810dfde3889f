//! What the bindings compute, without the browser.

use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::{Digest, Signature, SigningKey};
use ostrakon_decide::opening::archive::ArchivedOpening;
use ostrakon_decide::{
    self as decide, Archive, CertifiedKey, Chain, DecisionId, Draft, Examined, Layer, Memory,
};
use ostrakon_decide::{NewKey, Opening, Operators, Refused, Report, Serial, Visit};
use ostrakon_party::{PartyId, wire};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::inner::json;
use crate::randomness::generator;

fn text<T: std::fmt::Display>(error: T) -> String {
    error.to_string()
}

fn parse<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("{what} is malformed: {error}"))
}

pub fn base64(text: &str) -> Result<Vec<u8>, String> {
    BASE64URL_NOPAD
        .decode(text.as_bytes())
        .map_err(|_| "the server sent what is not base64url".to_owned())
}

fn list<T: Serialize + DeserializeOwned>(what: &str, texts: &str) -> Result<Vec<T>, String> {
    let texts: Vec<String> = parse(what, texts)?;
    texts
        .iter()
        .map(|one| wire::decode(&base64(one)?).map_err(|_| format!("{what} is malformed")))
        .collect()
}

/// What was found in a history that does not hold, for a page that has its own sentence for each
/// kind. Records are counted from 0.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Finding {
    /// A record belongs to another decision.
    Decision { number: u32 },
    /// A record was changed by whoever shows it.
    Signature { number: u32 },
    /// A record is not allowed at its place.
    Rule { number: u32 },
    /// A key in a record does not hold.
    Key { number: u32, whose: String },
    /// An answer in a record does not hold; a person signed it.
    Step { number: u32, name: String },
    /// Less is shown than before.
    Shorter { shown: u32, seen: u32 },
    /// Something else is shown than before.
    Forked { number: u32 },
    /// What a server has opened does not hold.
    Opening { party: u8 },
    /// Everything holds, but there is no result: nobody's fault.
    NoResult,
    /// Only the sentence says it.
    Other,
}

/// Why a history is not believed.
#[derive(Debug)]
pub struct Doubt {
    pub finding: Finding,
    pub sentence: String,
}

impl From<Refused> for Doubt {
    fn from(refused: Refused) -> Self {
        let sentence = refused.to_string();
        let finding = match refused {
            Refused::Decision { number } => Finding::Decision { number },
            Refused::Signature { number } => Finding::Signature { number },
            Refused::Rule { number, .. } => Finding::Rule { number },
            Refused::Key { number, whose, .. } => Finding::Key { number, whose },
            Refused::Step { number, name, .. } => Finding::Step { number, name },
            Refused::Shorter { shown, seen } => Finding::Shorter { shown, seen },
            Refused::Forked { number } => Finding::Forked { number },
            Refused::Opening { party, .. } => Finding::Opening { party },
            Refused::NoResult(_) => Finding::NoResult,
            _ => Finding::Other,
        };
        Self { finding, sentence }
    }
}

impl From<String> for Doubt {
    fn from(sentence: String) -> Self {
        Self { finding: Finding::Other, sentence }
    }
}

pub fn decision_id(text: &str) -> Result<DecisionId, String> {
    DecisionId::from_hex(text).ok_or_else(|| "a decision's id has 32 hexadecimal digits".to_owned())
}

pub fn draft(text: &str) -> Result<Draft, String> {
    let draft: Draft = parse("the draft", text)?;
    draft.validate().map_err(self::text)?;
    Ok(draft)
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
        Some(objection) => Err(objection),
        None => Ok(json(&rows.iter().filter_map(meaning).collect::<Vec<_>>())),
    }
}

pub fn new_key(
    operators: &Operators,
    account: &SigningKey,
    terms: (u8, u64),
    helpers: &str,
) -> Result<NewKey, String> {
    let helpers: Vec<decide::HelperKey> = parse("a server's key for shares", helpers)?;
    let mut rng = generator()?;
    let mut serial = Serial([0; 16]);
    rand_core::Rng::fill_bytes(&mut rng, &mut serial.0);
    decide::keys::shares::new_key(account, serial, terms, operators, &helpers, &mut rng)
        .map_err(text)
}

pub fn certify(
    operators: &Operators,
    account: &SigningKey,
    key: &NewKey,
    receipts: &str,
) -> Result<Vec<u8>, String> {
    let receipts: Vec<Signature> = parse("a server's receipt", receipts)?;
    let certified =
        decide::keys::certify(account, key.statement.clone(), receipts, operators).map_err(text)?;
    Ok(wire::encode(&certified))
}

pub fn add_to_receipt(operators: &Operators, receipt: &str, word: &str) -> Result<String, String> {
    let mut receipt: decide::Receipt = parse("the receipt", receipt)?;
    let word: decide::Acknowledgement = parse("the server's word", word)?;
    receipt.add(operators, word).map_err(text)?;
    Ok(json(&receipt))
}

pub fn stock(keys: &str) -> Result<Vec<u8>, String> {
    Ok(wire::encode(&list::<CertifiedKey>("a certified key", keys)?))
}

pub fn create(
    operators: &Operators,
    creator: &SigningKey,
    draft: &str,
    layers: &str,
    time: u64,
) -> Result<Vec<u8>, String> {
    let layers: Vec<Layer> = list("a server's layer", layers)?;
    let layers =
        layers.try_into().map_err(|_| "one layer of each of the three servers is needed")?;
    let signed = decide::record::create(self::draft(draft)?, layers, operators, creator, time);
    Chain::begin(*operators, &signed).map_err(text)?;
    Ok(signed.encode())
}

pub fn read(visit: &mut Visit, record: &str) -> Result<(), Doubt> {
    Ok(visit.read(&base64(record)?, &mut generator()?)?)
}

pub fn verify(visit: &mut Visit) -> Result<(), Doubt> {
    Ok(visit.verify(&mut generator()?)?)
}

pub fn answer(
    visit: &Visit,
    account: &SigningKey,
    answers: &[u8],
    memory: &mut Memory,
    time: u64,
) -> Result<Vec<u8>, String> {
    Ok(visit.answer(account, answers, memory, time, &mut generator()?).map_err(text)?.encode())
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

fn openings(text: &str) -> Result<Vec<(PartyId, Opening)>, String> {
    let archived: Vec<ArchivedOpening> = parse("the servers' openings", text)?;
    let read = |one: &ArchivedOpening| {
        Ok((one.party, Opening::decode(&base64(&one.opening)?).map_err(|error| error.to_string())?))
    };
    archived.iter().map(read).collect()
}

pub fn result(visit: &Visit, openings: &str) -> Result<String, Doubt> {
    Ok(json(&Examined::of(visit)?.result(&self::openings(openings)?)?))
}

pub fn archive(servers: &str, records: &str, openings: &str) -> Result<String, String> {
    let records: Vec<String> = parse("the list of records", records)?;
    let records = records.iter().map(|record| base64(record)).collect::<Result<Vec<_>, _>>()?;
    let servers = crate::inner::servers(servers)?;
    Ok(Archive::new(servers, records, &self::openings(openings)?).to_text())
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
