//! What a reporter sends: one string of bytes, the same for all servers (`docs/spec/statistics.md`,
//! section 4).
//!
//! Nothing here waits, reads a clock or opens a socket: it builds for WebAssembly.

mod label;
mod proof;
pub(crate) mod shares;

use std::fmt;

use curve25519_dalek::ristretto::RistrettoPoint;
use ostrakon_authbits::Bits;
use ostrakon_crypto::{Digest, Secret, Signature, SigningKey, Transcript, VerifyingKey};

use crate::committee::Committee;
use crate::group::{self, Encoded};
use crate::items;
use crate::items::Places;
use crate::question::{BadQuestion, Form, Question};
use label::Label;
use proof::Proof;

/// The first bytes of a report: which form it has.
const MAGIC: [u8; 4] = *b"OSR1";
const POINT: usize = 32;
const HEAD: usize = 4 + 32 + 32;

/// What reports are about. Labels are made of all of it, so a report is void for everything else.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Names what is asked: an epoch, a survey.
    pub subject: Digest,
    /// For whom reports are made.
    pub committee: &'a Committee,
    /// What is asked.
    pub question: &'a Question,
    /// Which call for reports about the subject: 0, and 1 and so on where reports were spent by a
    /// run that broke off.
    pub number: u64,
}

impl Scope<'_> {
    /// Names it.
    pub fn digest(&self) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/stats/scope");
        transcript
            .field(&self.subject.0)
            .field(&self.committee.digest().0)
            .field(&self.question.digest().0)
            .number(self.number);
        transcript.finish()
    }
}

/// A part of a report that members open together or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// χ: coefficients of the check, opened always, after everything that they check is fixed.
    Chi = 1,
    /// e: opened if the report is accepted; with it the masked number.
    E = 2,
    /// s: opened if the check fails; then e never is.
    S = 3,
}

impl Field {
    const OF_NUMBERS: [Field; 3] = [Field::Chi, Field::E, Field::S];
    const OF_SKETCHES: [Field; 1] = [Field::E];
}

/// Which fields a report has, in the order of the bytes.
pub(crate) fn fields(form: &Form) -> &'static [Field] {
    match form {
        Form::Number { .. } | Form::Grouped { .. } => &Field::OF_NUMBERS,
        Form::Items { .. } => &Field::OF_SKETCHES,
    }
}

/// What a reporter says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Number(u64),
    /// A whole number and the group that its reporter belongs to.
    Grouped {
        /// From 0 on.
        group: u16,
        /// The number.
        number: u64,
    },
    /// Things, of which the committee counts the different ones over all reports, and where they
    /// fall.
    Items(Vec<Vec<u8>>, Places),
}

/// Why no report is made of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadValue {
    /// The question cannot be asked.
    #[error(transparent)]
    Question(#[from] BadQuestion),
    /// Something else is asked for.
    #[error("the question asks for another kind of answer: {0}")]
    Kind(&'static str),
    /// The number does not fit.
    #[error("the number is too large: at most {0} can be reported")]
    TooLarge(u64),
    /// There is no such group.
    #[error("there is no such group: groups have numbers from 0 to {0}")]
    Group(u16),
}

/// The value's bits.
fn bits_of(scope: &Scope<'_>, value: &Value, randomness: &Secret) -> Result<Bits, BadValue> {
    let fits = |number: u64, width: u8| {
        if number >> width == 0 { Ok(()) } else { Err(BadValue::TooLarge((1 << width) - 1)) }
    };
    match (scope.question.form, value) {
        (Form::Number { width }, Value::Number(number)) => {
            fits(*number, width)?;
            Ok((0..width).map(|digit| number >> digit & 1 == 1).collect())
        }
        (form @ Form::Grouped { width, groups }, Value::Grouped { group, number }) => {
            fits(*number, width)?;
            if *group >= groups {
                return Err(BadValue::Group(groups - 1));
            }
            let all = number | u64::from(*group) << width;
            Ok((0..form.bits()).map(|digit| all >> digit & 1 == 1).collect())
        }
        (Form::Items { counters }, Value::Items(things, places)) => {
            Ok(items::sketch(counters, places, things, randomness))
        }
        (form, _) => Err(BadValue::Kind(form.asks_for())),
    }
}

/// Bytes of a report.
pub fn length(question: &Question) -> usize {
    let fields = fields(&question.form);
    let check = if fields.len() > 1 { 8 } else { 0 };
    let masked = question.form.bits().div_ceil(8);
    HEAD + 2 * POINT * fields.len() + check + masked + Proof::BYTES + 64
}

/// Makes a report. `randomness` is fresh and serves this report alone: the reporter stores the
/// bytes before it sends them, and sends the same ones again.
///
/// # Errors
/// [`BadValue`].
pub fn make(
    scope: &Scope<'_>,
    value: &Value,
    reporter: &SigningKey,
    randomness: &Secret,
) -> Result<Vec<u8>, BadValue> {
    scope.question.validate()?;
    let bits = bits_of(scope, value, randomness)?;
    let (scope_digest, key) = (scope.digest(), reporter.verifying_key());
    // The same randomness for another value would be no mask: what is drawn depends on both.
    let randomness = randomness.derive(
        "ostrakon/v1/stats/randomness of a report",
        &[&scope_digest.0, &key.0, &bits.to_bytes()],
    );
    let fields = fields(&scope.question.form);
    let ephemeral = proof::Ephemerals::draw(&scope_digest, &key, fields, &randomness);
    let mut body = head(&scope_digest, &key);
    body.extend(ephemeral.to_bytes());
    let dealt = shares::Dealt::of(&scope.question.form, &ephemeral, scope.committee);
    let mut masked = bits;
    if fields.len() > 1 {
        body.extend_from_slice(&dealt.check().to_le_bytes());
        masked.xor(&dealt.s);
    }
    masked.xor(&dealt.e);
    body.extend(masked.to_bytes());
    let proof = ephemeral.prove(&statement(&body), &randomness);
    body.extend(proof.to_bytes());
    let signature = reporter.sign(&signed(&body));
    body.extend_from_slice(&signature.0);
    Ok(body)
}

fn head(scope: &Digest, reporter: &VerifyingKey) -> Vec<u8> {
    [&MAGIC[..], &scope.0, &reporter.0].concat()
}

/// What the proof is about: everything before it.
fn statement(body: &[u8]) -> Digest {
    ostrakon_crypto::hash::digest("ostrakon/v1/stats/statement of a report", body)
}

/// What the reporter signs: everything before the signature.
fn signed(body: &[u8]) -> Digest {
    ostrakon_crypto::hash::digest("ostrakon/v1/stats/report", body)
}

/// Why bytes are no report. Whoever sent them is told; nothing of it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadReport {
    /// Another length, version or form.
    #[error("this is no report, or one of another version: load the page again")]
    Form,
    /// Made for another question, committee or call.
    #[error("the report was made for another question or other servers: load the page again")]
    Scope,
    /// The signature does not hold.
    #[error("the report's signature does not hold: it was changed on its way; send it again")]
    Signature,
    /// The proof does not hold: the sender has not made the report itself.
    #[error("the report's proof does not hold: a report must be made by who sends it")]
    Proof,
}

/// A point as it was sent: whoever hashes it need not encode it anew.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) point: RistrettoPoint,
    /// Its one encoding.
    pub(crate) encoded: Encoded,
}

impl Sent {
    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self { point: group::decode(bytes)?, encoded: bytes.try_into().ok()? })
    }
}

/// A report whose form, signature and proof have been checked, for one scope.
#[derive(Clone)]
pub struct Report {
    bytes: Vec<u8>,
    reporter: VerifyingKey,
    digest: Digest,
    scope: Digest,
    ephemerals: Vec<Sent>,
    check: u64,
    masked: Bits,
}

/// What a server does before it stores a report, or computes on it.
///
/// # Errors
/// [`BadReport`].
pub fn check(bytes: &[u8], scope: &Scope<'_>) -> Result<Report, BadReport> {
    let report = checked_before(bytes, scope)?;
    let (body, signature) = bytes.split_at(bytes.len() - 64);
    let signature = Signature(signature.try_into().map_err(|_| BadReport::Form)?);
    if !report.reporter.verifies(&report.digest, &signature) {
        return Err(BadReport::Signature);
    }
    let fields = fields(&scope.question.form);
    let (stated, proof) = body.split_at(body.len() - Proof::BYTES);
    let twins = stated[HEAD..].chunks_exact(POINT).take(2 * fields.len()).skip(1).step_by(2);
    let pair = |(sent, twin): (&Sent, &[u8])| Some([sent.point, group::decode(twin)?]);
    let pairs = report.ephemerals.iter().zip(twins).map(pair).collect::<Option<Vec<_>>>();
    let pairs = pairs.ok_or(BadReport::Form)?;
    let proof = Proof::from_bytes(proof).ok_or(BadReport::Form)?;
    let base = proof::base_of(&report.scope, &report.reporter);
    if !proof.holds(&statement(stated), base, &pairs) {
        return Err(BadReport::Proof);
    }
    Ok(report)
}

/// Reads a report that has passed [`check`] before, by this server, which has kept it since: its
/// signature and its proof are not checked again.
///
/// # Errors
/// [`BadReport`], if it is none or of another scope.
pub fn checked_before(bytes: &[u8], scope: &Scope<'_>) -> Result<Report, BadReport> {
    if bytes.len() != length(scope.question) || bytes[..4] != MAGIC {
        return Err(BadReport::Form);
    }
    let scope_digest = scope.digest();
    if bytes[4..36] != scope_digest.0 {
        return Err(BadReport::Scope);
    }
    let reporter = reporter(bytes).ok_or(BadReport::Form)?;
    let body = &bytes[..bytes.len() - 64];
    let fields = fields(&scope.question.form);
    let stated = &body[..body.len() - Proof::BYTES];
    let (pairs, rest) = stated[HEAD..].split_at(2 * POINT * fields.len());
    let (check, masked) = rest.split_at(if fields.len() > 1 { 8 } else { 0 });
    let masked = Bits::from_bytes(masked, scope.question.form.bits()).ok_or(BadReport::Form)?;
    let ephemerals = pairs.chunks_exact(POINT).step_by(2).map(Sent::read);
    let ephemerals = ephemerals.collect::<Option<Vec<_>>>().ok_or(BadReport::Form)?;
    let check = check.try_into().map_or(0, u64::from_le_bytes);
    let (bytes, digest, scope) = (bytes.to_vec(), signed(body), scope_digest);
    Ok(Report { bytes, reporter, digest, scope, ephemerals, check, masked })
}

/// Who says that it has made a report.
pub(crate) fn reporter(report: &[u8]) -> Option<VerifyingKey> {
    report.get(36..HEAD)?.try_into().ok().map(VerifyingKey)
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "report {:?} of {:?}", self.digest, self.reporter)
    }
}

impl Report {
    /// As it was sent.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Who made it.
    pub fn reporter(&self) -> VerifyingKey {
        self.reporter
    }

    /// The digest of what its reporter signed. The signature's own bytes are not in it.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The scope that it was checked for.
    pub(crate) fn scope(&self) -> Digest {
        self.scope
    }

    /// y.
    pub(crate) fn stated(&self) -> u64 {
        self.check
    }

    /// E.
    pub(crate) fn masked(&self) -> &Bits {
        &self.masked
    }

    pub(crate) fn label(&self, field: Field) -> Label {
        Label::new(&self.scope, &self.reporter, field)
    }

    /// R of a field that the report has.
    pub(crate) fn ephemeral(&self, field: Field) -> &Sent {
        // A sketch has field e alone.
        let place = if self.ephemerals.len() == 1 { 0 } else { field as usize - 1 };
        &self.ephemerals[place]
    }

    /// Names the reporter's report under this scope, whatever it says: at most one of its fields s
    /// and e is ever shown.
    pub(crate) fn name(&self) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/stats/name of a report");
        transcript.field(&self.scope.0).field(&self.reporter.0);
        transcript.finish()
    }
}

#[cfg(any(test, feature = "forge"))]
pub mod forge;
