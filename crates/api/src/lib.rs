//! The HTTP interface of a server: JSON over [`ostrakon_node::Service`], and the web client's
//! files.
//!
//! The layer is thin. It decodes requests, calls the service, and turns errors into problem
//! documents (RFC 9457) that name the cause and the remedy. What it adds of its own are limits
//! (sizes, times, connections) and the headers by which a browser keeps the page apart from
//! everything else.
//!
//! There are no cookies, so every public answer may be read by every origin: the page of one server
//! talks to all three. Nothing that a participant does is written to a log.

mod client;
mod committee;
mod counts;
mod decisions;
mod extract;
mod guard;
mod handlers;
mod hosting;
mod jobs;
mod listen;
mod log;
mod mixer;
mod openapi;
mod operator;
mod problem;
mod router;
mod web;

pub use committee::{Missing, Operating, committee_router};
pub use extract::OperatorToken;
pub use listen::serve;
pub use listen::tls::{CertificateError, Listener, Tls, certificate_expires};
pub use log::LogControl;
pub use mixer::{Machine, MixerOperating, mixer_router};
pub use openapi::openapi;
pub use problem::Problem;
pub use router::{Options, router};
