//! Which server e-mail is handed to: the table `[mail]` of the configuration.

use std::path::PathBuf;

use lettre::message::Mailbox;
use lettre::{AsyncSmtpTransport, Tokio1Executor};
use serde::{Deserialize, Serialize};

/// The environment variable that holds the password for the mail server, if it is not to be in a
/// file.
pub const MAIL_PASSWORD_VARIABLE: &str = "OSTRAKON_MAIL_PASSWORD";

/// The table `[mail]`: the server that mail is handed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mail {
    /// `smtps://HOST[:PORT]` (TLS from the start), `smtp://HOST[:PORT]?tls=required` (STARTTLS),
    /// or, on this machine only, `smtp://HOST[:PORT]`.
    pub smtp: String,
    /// The sender, as in `Ostrakon <decisions@example.org>`.
    pub from: String,
    /// The name to log in with; without it there is no login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// File with the password. [`MAIL_PASSWORD_VARIABLE`] goes before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
}

impl Mail {
    /// What makes no sense, each with its remedy.
    pub(crate) fn problems(&self, complain: &mut impl FnMut(String)) {
        let encrypted = self.smtp.starts_with("smtps://") || self.smtp.ends_with("?tls=required");
        let host = self.smtp.strip_prefix("smtp://").unwrap_or_default();
        let here = ["localhost", "127.0.0.1", "[::1]"];
        if !encrypted
            && !here.iter().any(|name| host == *name || host.starts_with(&format!("{name}:")))
        {
            complain(
                "`mail.smtp` must be `smtps://HOST:PORT` or `smtp://HOST:PORT?tls=required`; without TLS it may be on this machine only"
                    .into(),
            );
        }
        if AsyncSmtpTransport::<Tokio1Executor>::from_url(&self.smtp).is_err() {
            complain(format!("`mail.smtp` = {:?} is no address of a mail server", self.smtp));
        }
        if self.from.parse::<Mailbox>().is_err() {
            complain(format!("`mail.from` = {:?} is no e-mail address", self.from));
        }
        if self.user.is_none() && self.password_file.is_some() {
            complain("`mail.password_file` needs `mail.user`, the name to log in with".into());
        }
    }
}
