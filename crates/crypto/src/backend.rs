//! Ed25519 and X25519 of two libraries, with the same results: AWS-LC, which takes half the time or
//! less, and dalek in WebAssembly, for which there is no AWS-LC.

#[cfg(not(target_family = "wasm"))]
mod aws_lc;
#[cfg(any(test, target_family = "wasm"))]
mod dalek;

#[cfg(not(target_family = "wasm"))]
pub use aws_lc::{Exchange, Signer, verifies};
#[cfg(target_family = "wasm")]
pub use dalek::{Exchange, Signer, verifies};

#[cfg(test)]
mod tests {
    use super::aws_lc::SMALL_ORDER;
    use super::*;
    use crate::hash::keyed;

    /// 32 bytes that look random.
    fn bytes(name: u64) -> [u8; 32] {
        *keyed(&[7; 32], &name.to_le_bytes()).expose()
    }

    /// Whether the signature is valid; both libraries must say the same.
    fn agreed(key: &[u8; 32], message: &[u8; 32], signature: &[u8; 64]) -> bool {
        let valid = verifies(key, message, signature);
        assert_eq!(
            dalek::verifies(key, message, signature),
            valid,
            "{key:?} {message:?} {signature:?}"
        );
        valid
    }

    #[test]
    fn both_libraries_sign_alike_and_refuse_the_same() {
        for name in 0..200 {
            let (seed, message) = (bytes(name), bytes(1000 + name));
            let signer = Signer::from_seed(&seed);
            let (key, signature) = (signer.public(), signer.sign(&message));
            let other = dalek::Signer::from_seed(&seed);
            assert_eq!((other.public(), other.sign(&message)), (key, signature));
            assert!(agreed(&key, &message, &signature));
            let at = name as usize % 64;
            let mut changed = signature;
            changed[at] ^= 1 << (name % 8);
            assert!(!agreed(&key, &message, &changed), "byte {at} of the signature");
            let mut changed = key;
            changed[at % 32] ^= 1 << (name % 8);
            assert!(!agreed(&changed, &message, &signature), "byte {} of the key", at % 32);
            assert!(!agreed(&key, &seed, &signature), "another message");
        }
    }

    /// With a key of small order, R of small order and s = 0 satisfy the equation for one message
    /// in eight, or for all.
    #[test]
    fn keys_and_signatures_of_small_order_are_refused() {
        let signer = Signer::from_seed(&bytes(1));
        for y in SMALL_ORDER {
            for sign in [0, 0x80] {
                let mut point = y;
                point[31] |= sign;
                let weak =
                    ed25519_dalek::VerifyingKey::from_bytes(&point).is_ok_and(|key| key.is_weak());
                assert!(weak, "{point:?} is a point of small order");
                for message in (0..32).map(bytes) {
                    let mut signature = [0; 64];
                    for r in SMALL_ORDER {
                        signature[..32].copy_from_slice(&r);
                        assert!(!agreed(&point, &message, &signature));
                    }
                    signature[..32].copy_from_slice(&point);
                    assert!(!agreed(&signer.public(), &message, &signature));
                }
            }
        }
    }

    /// The order of the group, little-endian.
    const ORDER: [u8; 32] = [
        0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde,
        0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ];

    #[test]
    fn a_signature_has_one_form() {
        for name in 0..50 {
            let (signer, message) = (Signer::from_seed(&bytes(name)), bytes(1000 + name));
            let mut signature = signer.sign(&message);
            let mut carry = 0;
            for (byte, order) in signature[32..].iter_mut().zip(ORDER) {
                let sum = u16::from(*byte) + u16::from(order) + carry;
                (*byte, carry) = (sum as u8, sum >> 8);
            }
            assert!(!agreed(&signer.public(), &message, &signature), "s + L is no other form of s");
        }
    }

    /// RFC 8032, section 7.1, has messages of other lengths than digests; the key pair of its first
    /// test vector.
    #[test]
    fn a_seed_has_the_public_key_of_the_standard() {
        let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
        let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        let seed = crate::Digest::from_hex(seed).unwrap().0;
        assert_eq!(crate::Digest(Signer::from_seed(&seed).public()).to_hex(), public);
    }

    #[test]
    fn both_libraries_exchange_alike() {
        for name in 0..100 {
            let (secret, other) = (bytes(name), bytes(1000 + name));
            let (exchange, twin) = (Exchange::new(&secret), dalek::Exchange::new(&secret));
            assert_eq!(exchange.public(), twin.public());
            let there = Exchange::new(&other);
            assert_eq!(exchange.with(&there.public()), there.with(&exchange.public()));
            assert_eq!(exchange.with(&other), twin.with(&other), "whatever the other half is");
        }
        let exchange = Exchange::new(&bytes(1));
        for point in [SMALL_ORDER[0], SMALL_ORDER[1]] {
            assert_eq!(exchange.with(&point)[..], [0; 32], "a half of small order");
            assert_eq!(dalek::Exchange::new(&bytes(1)).with(&point)[..], [0; 32]);
        }
    }

    /// RFC 7748, section 6.1.
    #[test]
    fn an_exchange_is_that_of_the_standard() {
        let hex = |text| crate::Digest::from_hex(text).unwrap().0;
        let alice =
            Exchange::new(&hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
        let bob =
            Exchange::new(&hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
        assert_eq!(
            alice.public(),
            hex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
        );
        assert_eq!(
            bob.public(),
            hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
        );
        let shared = hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
        assert_eq!((*alice.with(&bob.public()), *bob.with(&alice.public())), (shared, shared));
    }
}
