//! What is logged, where to and in which form.
//!
//! Only this program's own words are logged: libraries would name clients' addresses at their lower
//! levels.

use std::io::IsTerminal;

use ostrakon_api::LogControl;
use tracing_subscriber::filter::{EnvFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt, reload};

/// The variable that selects what is logged, for example `debug` or `ostrakon_node=trace`. It goes
/// before the configuration.
pub const VARIABLE: &str = "OSTRAKON_LOG";
/// What a server logs unless told otherwise.
pub const DEFAULT: &str = "info";

/// The form of a server's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One JSON object a line.
    Json,
    /// Lines for people.
    Text,
}

fn own() -> impl tracing_subscriber::layer::Filter<Registry> {
    filter_fn(|metadata| metadata.target().starts_with("ostrakon"))
}

/// Starts logging to standard error: a server's log in its form, with a handle to change it, or
/// plain warnings for people.
pub fn start(server: Option<Format>) -> LogControl {
    let default = if server.is_some() { DEFAULT } else { "warn" };
    let filter = EnvFilter::try_from_env(VARIABLE).unwrap_or_else(|_| EnvFilter::new(default));
    let (filter, handle) = reload::Layer::new(filter);
    let lines =
        fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match server {
        Some(Format::Json) => lines.json().with_filter(own()).boxed(),
        Some(Format::Text) => lines.with_filter(own()).boxed(),
        None => lines.without_time().with_target(false).with_filter(own()).boxed(),
    };
    tracing_subscriber::registry().with(lines).with(filter).init();
    LogControl::new(move |text| handle.reload(parse(text)?).map_err(|error| error.to_string()))
}

/// Reads a filter.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse(text: &str) -> Result<EnvFilter, String> {
    EnvFilter::try_new(text)
        .map_err(|error| format!("{text:?} is no log filter: {error}; try `info` or `debug`"))
}
