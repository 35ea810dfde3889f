//! HTTPS with a certificate that can be changed while the server runs.
//!
//! Browsers of the last decade are served: TLS 1.3 and 1.2, the hybrid X25519MLKEM768 first. A new
//! certificate counts for connections that begin after it; those that stand are not touched.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How long a client may take for the handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// The protocol by which an authority that speaks ACME checks that a name is this server's (RFC
/// 8737).
const CHALLENGE_PROTOCOL: &[u8] = b"acme-tls/1";

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("{path} cannot be read: {source}")]
    File {
        /// Which.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// What was read is no certificate.
    #[error("the certificate cannot be used: {0}; it must be in PEM, the server's own first")]
    Certificate(String),
    /// What was read is no key.
    #[error("the certificate's key cannot be used: {0}; it must be in PEM, not encrypted")]
    Key(String),
    /// Certificate and key are not a pair, or of a kind that is not known.
    #[error("certificate and key cannot be used together: {0}")]
    Pair(rustls::Error),
}

/// The certificates that connections are answered with.
#[derive(Debug, Default)]
struct Shelf {
    current: RwLock<Option<(Arc<CertifiedKey>, u64)>>,
    challenges: RwLock<BTreeMap<String, Arc<CertifiedKey>>>,
}

impl ResolvesServerCert for Shelf {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut protocols = hello.alpn().into_iter().flatten();
        if protocols.any(|protocol| protocol == CHALLENGE_PROTOCOL) {
            let challenges = self.challenges.read().expect("no panic while held");
            return challenges.get(hello.server_name()?).cloned();
        }
        let current = self.current.read().expect("no panic while held");
        current.as_ref().map(|(key, _)| Arc::clone(key))
    }
}

/// How connections become HTTPS. Without a certificate every handshake fails, until there is one.
#[derive(Clone)]
pub struct Tls {
    shelf: Arc<Shelf>,
    acceptor: TlsAcceptor,
}

impl Default for Tls {
    fn default() -> Self {
        let shelf = Arc::<Shelf>::default();
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider has suites for them");
        let mut config =
            config.with_no_client_auth().with_cert_resolver(Arc::clone(&shelf) as Arc<_>);
        config.alpn_protocols = vec![b"http/1.1".to_vec(), CHALLENGE_PROTOCOL.to_vec()];
        Self { shelf, acceptor: TlsAcceptor::from(Arc::new(config)) }
    }
}

impl Tls {
    /// Uses the certificate in these files from now on. If that fails, the one before remains.
    ///
    /// # Errors
    /// [`CertificateError`].
    pub fn use_files(&self, certificate: &Path, key: &Path) -> Result<(), CertificateError> {
        let read = |path: &Path| {
            std::fs::read(path).map_err(|source| CertificateError::File {
                path: path.display().to_string(),
                source,
            })
        };
        self.use_pem(&read(certificate)?, &read(key)?)
    }

    /// Uses this certificate, followed by those that it depends on, from now on.
    ///
    /// # Errors
    /// [`CertificateError`].
    pub fn use_pem(&self, certificate: &[u8], key: &[u8]) -> Result<(), CertificateError> {
        let (certified, expires) = certified(certificate, key)?;
        *self.shelf.current.write().expect("no panic while held") = Some((certified, expires));
        Ok(())
    }

    /// Answers the authority that checks `name` with this self-signed certificate.
    ///
    /// # Errors
    /// [`CertificateError`].
    pub fn answer_challenge(
        &self,
        name: &str,
        certificate: &[u8],
        key: &[u8],
    ) -> Result<(), CertificateError> {
        // Its critical extension is for the authority alone; no library would take it for a
        // certificate.
        let (chain, key) = (read_chain(certificate)?, read_key(key)?);
        let key = default_provider()
            .key_provider
            .load_private_key(key)
            .map_err(CertificateError::Pair)?;
        let certified = Arc::new(CertifiedKey::new(chain, key));
        self.shelf
            .challenges
            .write()
            .expect("no panic while held")
            .insert(name.to_owned(), certified);
        Ok(())
    }

    /// Forgets what was meant for the authority.
    pub fn forget_challenges(&self) {
        self.shelf.challenges.write().expect("no panic while held").clear();
    }

    /// When the certificate in use expires, in seconds since 1970.
    pub fn expires(&self) -> Option<u64> {
        self.shelf
            .current
            .read()
            .expect("no panic while held")
            .as_ref()
            .map(|(_, expires)| *expires)
    }

    /// Carries out the handshake. `None`: nobody is there who wants to speak HTTP.
    async fn accept(&self, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
        let handshake = tokio::time::timeout(HANDSHAKE_TIME, self.acceptor.accept(stream));
        let stream = handshake.await.ok()?.ok()?;
        // The authority has seen what it came for.
        (stream.get_ref().1.alpn_protocol() != Some(CHALLENGE_PROTOCOL)).then_some(stream)
    }
}

fn read_chain(certificate: &[u8]) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
    chain.map_err(|error| CertificateError::Certificate(error.to_string()))
}

fn read_key(key: &[u8]) -> Result<PrivateKeyDer<'static>, CertificateError> {
    PrivateKeyDer::from_pem_slice(key).map_err(|error| CertificateError::Key(error.to_string()))
}

/// A certificate with its key, and when the first of its chain expires.
fn certified(certificate: &[u8], key: &[u8]) -> Result<(Arc<CertifiedKey>, u64), CertificateError> {
    let (chain, key) = (read_chain(certificate)?, read_key(key)?);
    let expiries = chain.iter().map(|one| certificate_expires(one)).collect::<Option<Vec<_>>>();
    let expires = expiries.and_then(|times| times.into_iter().min());
    let expires =
        expires.ok_or_else(|| CertificateError::Certificate("none is in the file".into()))?;
    let certified =
        CertifiedKey::from_der(chain, key, &default_provider()).map_err(CertificateError::Pair)?;
    Ok((Arc::new(certified), expires))
}

/// When a certificate in DER expires, in seconds since 1970. `None`: it is no certificate.
pub fn certificate_expires(certificate: &[u8]) -> Option<u64> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    u64::try_from(certificate.validity().not_after.timestamp()).ok()
}

/// Where connections come from, and whether they are HTTPS.
pub struct Listener {
    pub(crate) tcp: TcpListener,
    pub(crate) tls: Option<Tls>,
}

impl From<TcpListener> for Listener {
    fn from(tcp: TcpListener) -> Self {
        Self { tcp, tls: None }
    }
}

impl Listener {
    /// HTTPS, or plain HTTP without `tls`.
    pub fn new(tcp: TcpListener, tls: Option<Tls>) -> Self {
        Self { tcp, tls }
    }
}

/// A connection, after the handshake if there is one.
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Readies a connection for HTTP. `None`: it is of no use.
    pub async fn open(stream: TcpStream, tls: Option<&Tls>) -> Option<Self> {
        match tls {
            None => Some(Self::Plain(stream)),
            Some(tls) => tls.accept(stream).await.map(|stream| Self::Tls(Box::new(stream))),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
