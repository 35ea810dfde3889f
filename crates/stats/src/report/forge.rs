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
    let proof_at = bytes.len() - 64 - Proof::bytes(fields.len());
    let check_at = proof_at - bits.div_ceil(8) - 8;
    bytes[check_at] ^= 1;
    bytes.truncate(proof_at);
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
