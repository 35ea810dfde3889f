//! Opening parts of reports: points, each with the proof that it is the member's
//! (`docs/spec/statistics.md`, section 5).

pub(crate) mod places;

use curve25519_dalek::ristretto::RistrettoPoint;
use curve25519_dalek::scalar::Scalar;
use ostrakon_crypto::{Digest, Secret, Transcript, VerifyingKey};
use ostrakon_onepass::dleq::{Claim, DleqProof, Oracle};
use ostrakon_onepass::{Group, Ristretto};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::committee::ExchangeKey;
use crate::group::{self, Encoded};
use crate::report::shares::{Share, check};
use crate::report::{self, Field, Report, Scope, Sent};

const POINT: usize = 32;
const PROOF: usize = 64;

/// Bytes in which `points` are shown.
pub(crate) fn bytes(points: usize) -> usize {
    POINT * points + PROOF
}

/// The hashing of a proof that was made for one purpose about these pairs.
struct Purpose<'a> {
    purpose: &'a Digest,
    /// The claim's pairs, encoded one after the other: encoding a point costs as much as all else
    /// that is done with it here, and every one was sent encoded.
    pairs: Vec<u8>,
}

impl<'a> Purpose<'a> {
    fn new(purpose: &'a Digest, ephemerals: &[Sent], shown: &[Encoded]) -> Self {
        let pairs = ephemerals.iter().zip(shown).flat_map(|(sent, shown)| [sent.encoded, *shown]);
        Self { purpose, pairs: pairs.flatten().collect() }
    }

    fn transcript(&self, context: &'static str, claim: &Claim<'_, Ristretto>) -> Transcript {
        let encoded = |element: &RistrettoPoint| element.compress().to_bytes();
        let mut transcript = Transcript::new(context);
        transcript.field(&self.purpose.0);
        transcript.field(&encoded(&claim.base)).field(&encoded(&claim.public));
        transcript.bulk_field(&self.pairs);
        transcript
    }
}

impl Oracle<Ristretto> for Purpose<'_> {
    fn weights(&self, claim: &Claim<'_, Ristretto>) -> Vec<Scalar> {
        let seed = self.transcript("ostrakon/v1/stats/weights of an opening", claim).finish();
        let mut bytes = vec![0; 16 * claim.pairs.len()];
        Secret::new(seed.0).fill("ostrakon/v1/stats/weights", &[], &mut bytes);
        let weights = bytes.as_chunks::<16>().0.iter();
        weights.map(|weight| Scalar::from(u128::from_le_bytes(*weight))).collect()
    }

    fn challenge(&self, claim: &Claim<'_, Ristretto>, composites: [&RistrettoPoint; 4]) -> Scalar {
        let mut transcript = self.transcript("ostrakon/v1/stats/proof of an opening", claim);
        composites.iter().for_each(|point| {
            transcript.field(point.compress().as_bytes());
        });
        group::scalar(&transcript.finish())
    }
}

/// The points of a statement that [`show`] has written, of at least so many.
pub(crate) fn points(shown: &[u8], count: usize) -> &[Encoded] {
    &shown.as_chunks::<POINT>().0[..count]
}

/// Shows the member's points for these ephemerals, with one proof for all.
pub(crate) fn show(key: &ExchangeKey, purpose: &Digest, ephemerals: &[Sent]) -> Vec<u8> {
    let pairs: Vec<_> =
        ephemerals.iter().map(|sent| (sent.point, key.secret() * sent.point)).collect();
    let shown: Vec<Encoded> = pairs.iter().map(|(_, point)| point.compress().0).collect();
    let claim =
        Claim::<Ristretto> { base: Ristretto::generator(), public: *key.public(), pairs: &pairs };
    // The nonce belongs to the claim: the same opening is shown in the same bytes.
    let purpose = Purpose::new(purpose, ephemerals, &shown);
    let statement = purpose.transcript("ostrakon/v1/stats/nonce of an opening", &claim);
    let secret = Secret::new(key.secret().to_bytes());
    let context = "ostrakon/v1/stats/nonce";
    let nonce = Zeroizing::new(group::secret_scalar(&secret, context, &[&statement.finish().0]));
    let proof = DleqProof::prove(&claim, key.secret(), &purpose, &nonce);
    let mut bytes = shown.concat();
    bytes.extend_from_slice(&proof.to_bytes());
    bytes
}

/// Reads what [`show`] writes: the points, encoded; `None` unless they are those of the owner of
/// `public`.
pub(crate) fn verify<'a>(
    public: &RistrettoPoint,
    purpose: &Digest,
    ephemerals: &[Sent],
    shown: &'a [u8],
) -> Option<&'a [Encoded]> {
    if shown.len() != bytes(ephemerals.len()) {
        return None;
    }
    let proof = DleqProof::<Ristretto>::from_bytes(&shown[shown.len() - PROOF..]).ok()?;
    let shown = points(shown, ephemerals.len());
    let pair = |(sent, shown): (&Sent, &Encoded)| Some((sent.point, group::decode(shown)?));
    let pairs = ephemerals.iter().zip(shown).map(pair).collect::<Option<Vec<_>>>()?;
    let claim = Claim { base: Ristretto::generator(), public: *public, pairs: &pairs };
    proof.verify(&claim, &Purpose::new(purpose, ephemerals, shown)).then_some(shown)
}

/// What a batch of openings of one field by one member is for.
pub(crate) fn of_batch(run: &Digest, field: Field, member: usize) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/stats/opening of a field");
    transcript.field(&run.0).number(field as u64).number(member as u64);
    transcript.finish()
}

/// What the opening of one report's χ and s by one member is for. It depends on the report alone:
/// anybody can check it later.
pub(crate) fn of_complaint(report: &Report, member: usize) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/stats/opening on a complaint");
    transcript.field(&report.digest().0).number(member as u64);
    transcript.finish()
}

/// One member's points of a report's fields χ and s, and the proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// Z of χ, Z of s, and the proof that both are the member's: 128 bytes.
    pub points: Vec<u8>,
}

impl Opening {
    /// The bytes that [`show`] has written for χ and s.
    pub(crate) const BYTES: usize = 2 * POINT + PROOF;
}

/// The proof, for anybody, that a reporter has stated a wrong check value: its report, and what
/// every member has shown of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The report.
    pub report: Vec<u8>,
    /// By member.
    pub openings: Vec<Opening>,
}

impl Evidence {
    /// Whose report it is about, by what the report itself says.
    pub fn reporter(&self) -> Option<VerifyingKey> {
        report::reporter(&self.report)
    }

    /// Whether it convicts its reporter.
    #[must_use]
    pub fn holds(&self, scope: &Scope<'_>) -> bool {
        let Ok(report) = report::check(&self.report, scope) else { return false };
        let verdict = examine(&report, scope, &self.openings);
        matches!(verdict, Ok((y, _)) if y != report.stated())
    }
}

/// The ephemerals that a complaint is about.
pub(crate) fn complained(report: &Report) -> [Sent; 2] {
    [Field::Chi, Field::S].map(|field| *report.ephemeral(field))
}

/// Recomputes y from what the members show: with each member's share of s.
///
/// # Errors
/// The member whose opening does not hold.
pub(crate) fn examine(
    report: &Report,
    scope: &Scope<'_>,
    openings: &[Opening],
) -> Result<(u64, Vec<Share>), usize> {
    let bits = scope.question.form.bits();
    let members = scope.committee.points();
    let mut sums: Option<[Share; 2]> = None;
    let mut shares = Vec::with_capacity(members.len());
    for (i, public) in members.iter().enumerate() {
        let ephemerals = complained(report);
        let shown = openings.get(i).map_or(&[][..], |opening| &opening.points);
        let points = verify(public, &of_complaint(report, i), &ephemerals, shown).ok_or(i)?;
        let share = |field: Field, place: usize| {
            let key = report.label(field).key(i, &ephemerals[place].encoded, &points[place]);
            Share::of(field, &key, bits)
        };
        let own = [share(Field::Chi, 0), share(Field::S, 1)];
        shares.push(own[1].clone());
        match &mut sums {
            None => sums = Some(own),
            Some(sums) => sums.iter_mut().zip(&own).for_each(|(sum, own)| sum.add(own)),
        }
    }
    match sums {
        Some([Share::Chi(chi), Share::S(first, s)]) => Ok((check(first, &s, &chi), shares)),
        _ => Err(0),
    }
}
