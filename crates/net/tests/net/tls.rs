//! Who is let in: the pinned keys, over TLS 1.3 with the hybrid key exchange, and nobody else.

use std::sync::Arc;

use ostrakon_crypto::{SigningKey, VerifyingKey};
use ostrakon_net::Identity;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, ResolvesClientCert};
use rustls::crypto::aws_lc_rs::{default_provider, kx_group, sign};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, NamedGroup, ProtocolVersion, ServerConfig,
    SignatureScheme,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::{TlsAcceptor, TlsConnector};

fn identity(n: u8) -> Identity {
    Identity::from_seed(&[n; 32])
}

fn key(n: u8) -> VerifyingKey {
    SigningKey::from_seed(&[n; 32]).verifying_key()
}

/// What both ends think of a connection, once a byte has gone each way (in TLS 1.3 the dialler
/// learns only then).
async fn meet(
    dial: Arc<ClientConfig>,
    accept: Arc<ServerConfig>,
) -> (Result<(), String>, Result<(), String>) {
    let (near, far) = tokio::io::duplex(1 << 16);
    let dialling = async {
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let mut tls = TlsConnector::from(dial).connect(name, near).await?;
        tls.write_all(b"a").await?;
        let mut byte = [0];
        tls.read_exact(&mut byte).await?;
        assert_eq!(tls.get_ref().1.protocol_version(), Some(ProtocolVersion::TLSv1_3));
        let group = tls.get_ref().1.negotiated_key_exchange_group().map(|group| group.name());
        assert_eq!(group, Some(NamedGroup::X25519MLKEM768));
        std::io::Result::Ok(())
    };
    let accepting = async {
        let mut tls = TlsAcceptor::from(accept).accept(far).await?;
        let mut byte = [0];
        tls.read_exact(&mut byte).await?;
        tls.write_all(b"b").await?;
        tls.flush().await?;
        std::io::Result::Ok(())
    };
    let (a, b) = tokio::join!(dialling, accepting);
    (a.map_err(|e| e.to_string()), b.map_err(|e| e.to_string()))
}

async fn assert_refused(dial: Arc<ClientConfig>, accept: Arc<ServerConfig>) {
    let (a, b) = meet(dial, accept).await;
    assert!(a.is_err() && b.is_err(), "dialler: {a:?}, accepter: {b:?}");
}

#[tokio::test]
async fn the_pinned_parties_meet() {
    let met =
        meet(identity(1).dial_config(&key(2)), identity(2).accept_config(&[key(3), key(1)])).await;
    assert_eq!(met, (Ok(()), Ok(())));
}

#[tokio::test]
async fn a_dialler_with_another_key_is_refused() {
    assert_refused(identity(9).dial_config(&key(2)), identity(2).accept_config(&[key(1), key(3)]))
        .await;
    assert_refused(identity(1).dial_config(&key(2)), identity(2).accept_config(&[])).await;
}

#[tokio::test]
async fn a_party_in_place_of_another_is_refused() {
    // P3 is a party too, but it is not the one that was dialled.
    assert_refused(identity(1).dial_config(&key(2)), identity(3).accept_config(&[key(1)])).await;
}

/// `of`'s public key with the secret key of `by`.
fn impostor(of: u8, by: u8) -> Arc<CertifiedKey> {
    let prefix = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    let pkcs8 = [&prefix[..], &[by; 32]].concat();
    let secret = sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(pkcs8)).unwrap();
    let spki =
        [&[0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0][..], &key(of).0].concat();
    Arc::new(CertifiedKey::new(vec![CertificateDer::from(spki)], secret))
}

#[tokio::test]
async fn a_public_key_without_its_secret_is_refused() {
    let mut accept = ServerConfig::clone(&identity(3).accept_config(&[key(1)]));
    accept.cert_resolver = Arc::new(AlwaysResolvesServerRawPublicKeys::new(impostor(2, 3)));
    assert_refused(identity(1).dial_config(&key(2)), Arc::new(accept)).await;

    let mut dial = ClientConfig::clone(&identity(9).dial_config(&key(2)));
    dial.client_auth_cert_resolver =
        Arc::new(AlwaysResolvesClientRawPublicKeys::new(impostor(1, 9)));
    assert_refused(Arc::new(dial), identity(2).accept_config(&[key(1)])).await;
}

#[derive(Debug)]
struct Nobody;

impl ResolvesClientCert for Nobody {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

#[tokio::test]
async fn a_dialler_without_a_key_is_refused() {
    let mut dial = ClientConfig::clone(&identity(1).dial_config(&key(2)));
    dial.client_auth_cert_resolver = Arc::new(Nobody);
    assert_refused(Arc::new(dial), identity(2).accept_config(&[key(1)])).await;
}

/// Believes everything.
#[derive(Debug)]
struct Gullible;

impl ServerCertVerifier for Gullible {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

/// A dialler that speaks one version and has one kind of key exchange, and is otherwise as the
/// accepter wants it.
fn dialler(
    version: &'static rustls::SupportedProtocolVersion,
    group: &'static dyn rustls::crypto::SupportedKxGroup,
) -> Arc<ClientConfig> {
    let mut provider = default_provider();
    provider.kx_groups = vec![group];
    let config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[version])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Gullible))
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(impostor(
            1, 1,
        ))));
    Arc::new(config)
}

#[tokio::test]
async fn older_tls_and_classical_key_exchange_are_refused() {
    use rustls::version::{TLS12, TLS13};
    let accept = || identity(2).accept_config(&[key(1)]);
    // What the refused differ from is accepted.
    assert_eq!(meet(dialler(&TLS13, kx_group::X25519MLKEM768), accept()).await, (Ok(()), Ok(())));
    assert_refused(dialler(&TLS12, kx_group::X25519), accept()).await;
    assert_refused(dialler(&TLS13, kx_group::X25519), accept()).await;
}

#[test]
fn an_identity_is_the_seeds_and_does_not_show_it() {
    assert_eq!(identity(5).verifying_key(), key(5));
    let shown = format!("{:?}", Identity::from_seed(&[0xab; 32]));
    assert!(!shown.contains("abab") && !shown.contains("171, 171"), "{shown}");
}
