//! Reports of people who deviate: what a stranger can make, for tests, also of other crates.

use ostrakon_crypto::{Secret, SigningKey};

use super::{BadValue, Proof, Scope, Value, fields, make, proof, signed, statement};

/// A report that is right but for y, with a proof and a signature for that.
///
/// # Errors
/// [`BadValue`].
pub fn wrong_check(
    scope: &Scope<'_>,
    number: u64,
    reporter: &SigningKey,
    randomness: &Secret,
) -> Result<Vec<u8>, BadValue> {
    let behind = scope.question.form.bits().div_ceil(8) + 8;
    changed(scope, number, reporter, randomness, |stated| {
        let check_at = stated.len() - behind;
        stated[check_at] ^= 1;
    })
}

/// A report in which something was changed before it was proven and signed: the proof is made with
/// the scalars of the points that [`make`] has drawn.
///
/// # Errors
/// [`BadValue`].
pub(crate) fn changed(
    scope: &Scope<'_>,
    number: u64,
    reporter: &SigningKey,
    randomness: &Secret,
    change: impl FnOnce(&mut [u8]),
) -> Result<Vec<u8>, BadValue> {
    let mut bytes = make(scope, &Value::Number(number), reporter, randomness)?;
    let bits = scope.question.form.bits();
    let fields = fields(&scope.question.form);
    // The ephemerals that `make` has drawn.
    let value: ostrakon_authbits::Bits = (0..bits).map(|i| number >> i & 1 == 1).collect();
    let (digest, key) = (scope.digest(), reporter.verifying_key());
    let randomness = randomness.derive(
        "ostrakon/v1/stats/randomness of a report",
        &[&digest.0, &key.0, &value.to_bytes()],
    );
    let ephemerals = proof::Ephemerals::draw(&digest, &key, fields, &randomness);
    bytes.truncate(bytes.len() - 64 - Proof::BYTES);
    change(&mut bytes);
    let proof = ephemerals.prove(&statement(&bytes), &randomness);
    bytes.extend(proof.to_bytes());
    Ok(sign(bytes, reporter))
}

/// Signs a report's body.
pub(crate) fn sign(mut body: Vec<u8>, reporter: &SigningKey) -> Vec<u8> {
    let signature = reporter.sign(&signed(&body));
    body.extend_from_slice(&signature.0);
    body
}
