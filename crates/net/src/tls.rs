//! TLS 1.3 between parties that know each other's Ed25519 keys.
//!
//! Both sides present their identity key itself, as a raw public key (RFC 7250); there is no
//! certificate, hence no name, no authority and no expiry. The dialling side accepts exactly the
//! key of the party it dials; the accepting side accepts exactly the keys of the parties that may
//! dial it. Key exchange is the hybrid X25519MLKEM768 only, so that traffic recorded today stays
//! closed to a quantum computer; there is no resumption and no early data.
//!
//! The identity key also signs message headers. The two uses cannot be confused: a header signature
//! is on 32 bytes, a TLS 1.3 one on 64 spaces, a context string and a transcript hash.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ostrakon_crypto::{SigningKey, VerifyingKey};
use ostrakon_party::{PartyId, Roster};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::aws_lc_rs::cipher_suite::{TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384};
use rustls::crypto::aws_lc_rs::{default_provider, kx_group, sign};
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error,
    PeerIncompatible, ServerConfig, SignatureScheme,
};
use zeroize::Zeroizing;

/// An Ed25519 public key as SubjectPublicKeyInfo is this and the 32 bytes of the key (RFC 8410).
const SPKI_PREFIX: [u8; 12] =
    [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// An Ed25519 private key as PKCS#8 version 1 is this and the 32 bytes of the seed (RFC 8410).
const PKCS8_PREFIX: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

fn spki(key: &VerifyingKey) -> Vec<u8> {
    [&SPKI_PREFIX[..], &key.0].concat()
}

/// A party's identity key, ready to authenticate its connections. Never printed.
#[derive(Clone)]
pub struct Identity {
    key: VerifyingKey,
    certified: Arc<CertifiedKey>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({:?})", self.key)
    }
}

impl Identity {
    /// The identity whose RFC 8032 seed is `seed`: the seed that [`SigningKey::from_seed`] takes.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let key = SigningKey::from_seed(seed).verifying_key();
        let pkcs8 = Zeroizing::new([&PKCS8_PREFIX[..], seed].concat());
        let signing = sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(&pkcs8[..]))
            .expect("every 32-byte seed is an Ed25519 key");
        let certified = CertifiedKey::new(vec![CertificateDer::from(spki(&key))], signing);
        Self { key, certified: Arc::new(certified) }
    }

    /// The public half.
    pub fn verifying_key(&self) -> VerifyingKey {
        self.key
    }

    /// How this party dials the one whose key is `peer`.
    pub fn dial_config(&self, peer: &VerifyingKey) -> Arc<ClientConfig> {
        let provider = provider();
        let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .expect("the suites are TLS 1.3")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Pinned::new(provider, &[*peer])))
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(
                Arc::clone(&self.certified),
            )));
        config.resumption = Resumption::disabled();
        config.enable_sni = false;
        Arc::new(config)
    }

    /// How this party is dialled by those whose keys are `peers`.
    pub fn accept_config(&self, peers: &[VerifyingKey]) -> Arc<ServerConfig> {
        let provider = provider();
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .expect("the suites are TLS 1.3")
            .with_client_cert_verifier(Arc::new(Pinned::new(provider, peers)))
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(Arc::clone(
                &self.certified,
            ))));
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Arc::new(config)
    }
}

/// The key that the peer of a finished handshake presented, if it is an Ed25519 key.
#[must_use]
pub fn presented(certificates: Option<&[CertificateDer<'_>]>) -> Option<VerifyingKey> {
    let key = certificates?.first()?.as_ref().strip_prefix(&SPKI_PREFIX)?;
    key.try_into().ok().map(VerifyingKey)
}

/// The name that a TLS client must give; servers here do not look at it.
#[must_use]
pub fn any_name() -> ServerName<'static> {
    ServerName::IpAddress(std::net::Ipv4Addr::LOCALHOST.into())
}

fn provider() -> Arc<CryptoProvider> {
    let mut provider = default_provider();
    provider.kx_groups = vec![kx_group::X25519MLKEM768];
    provider.cipher_suites = vec![TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384];
    Arc::new(provider)
}

/// Accepts the holders of given keys and nobody else.
#[derive(Debug)]
struct Pinned {
    provider: Arc<CryptoProvider>,
    keys: Vec<Vec<u8>>,
}

impl Pinned {
    fn new(provider: Arc<CryptoProvider>, keys: &[VerifyingKey]) -> Self {
        Self { provider, keys: keys.iter().map(spki).collect() }
    }

    fn check(
        &self,
        presented: &CertificateDer<'_>,
        more: &[CertificateDer<'_>],
    ) -> Result<(), Error> {
        // Public keys are no secret: comparing them need not be constant-time.
        if more.is_empty() && self.keys.iter().any(|key| key == presented.as_ref()) {
            Ok(())
        } else {
            Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify(
        &self,
        message: &[u8],
        presented: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(presented.as_ref());
        verify_tls13_signature_with_raw_key(
            message,
            &key,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }
}

fn refuse_tls12() -> Result<HandshakeSignatureValid, Error> {
    Err(Error::PeerIncompatible(PeerIncompatible::Tls12NotOfferedOrEnabled))
}

/// What both verifiers of rustls ask alike: TLS 1.3 with Ed25519 and raw public keys, nothing else.
macro_rules! signatures_of_pinned_keys {
    () => {
        fn verify_tls12_signature(
            &self,
            _message: &[u8],
            _cert: &CertificateDer<'_>,
            _dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            refuse_tls12()
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.verify(message, cert, dss)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }

        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity, intermediates).map(|()| ServerCertVerified::assertion())
    }

    signatures_of_pinned_keys!();
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity, intermediates).map(|()| ClientCertVerified::assertion())
    }

    signatures_of_pinned_keys!();
}

/// The TLS configurations of one party.
pub(crate) struct Credentials {
    pub dial: BTreeMap<PartyId, Arc<ClientConfig>>,
    pub accept_any: Arc<ServerConfig>,
    pub accept_one: BTreeMap<PartyId, Arc<ServerConfig>>,
}

impl Credentials {
    pub fn new(id: PartyId, identity: &Identity, roster: &Roster) -> Self {
        let keys = || roster.parties().zip(&roster.keys);
        let lower: Vec<_> = keys().filter(|(peer, _)| *peer < id).map(|(_, key)| *key).collect();
        Self {
            dial: keys()
                .filter(|(p, _)| *p > id)
                .map(|(p, key)| (p, identity.dial_config(key)))
                .collect(),
            accept_any: identity.accept_config(&lower),
            accept_one: keys()
                .filter(|(p, _)| *p < id)
                .map(|(p, key)| (p, identity.accept_config(std::slice::from_ref(key))))
                .collect(),
        }
    }
}
