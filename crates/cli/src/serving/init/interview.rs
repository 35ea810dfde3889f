//! Questions to an operator, for those settings that no flag gives.

use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::{Options, check_address, check_url};
use crate::serving::home::IDENTITY;

/// Somebody who answers.
pub struct Interview<R, W> {
    answers: R,
    questions: W,
}

impl<R: BufRead, W: Write> Interview<R, W> {
    /// Asks on `questions` and reads from `answers`.
    pub fn new(answers: R, questions: W) -> Self {
        Self { answers, questions }
    }

    /// Asks until the answer is one.
    fn ask<T>(
        &mut self,
        question: &str,
        default: &str,
        check: impl Fn(&str) -> Result<T>,
    ) -> Result<T> {
        loop {
            let hint = if default.is_empty() { String::new() } else { format!(" [{default}]") };
            write!(self.questions, "{question}{hint}: ")?;
            self.questions.flush()?;
            let mut answer = String::new();
            if self.answers.read_line(&mut answer)? == 0 {
                bail!(
                    "the answers ended at the question {question:?}; flags give them too: `ostrakon init --help`"
                );
            }
            let answer = answer.trim();
            match check(if answer.is_empty() { default } else { answer }) {
                Ok(value) => return Ok(value),
                Err(error) => writeln!(self.questions, "  {error:#}")?,
            }
        }
    }

    /// Asks for what is missing in `options`: in a fresh directory for the card, in one with a key
    /// for the rest.
    ///
    /// # Errors
    /// If the answers end.
    pub fn complete(&mut self, options: &mut Options) -> Result<()> {
        if options.dir.is_none() {
            options.dir = Some(
                self.ask("Directory of this server", "server", |text| Ok(PathBuf::from(text)))?,
            );
        }
        let directory = options.dir.clone().context("just asked for")?;
        if options.card.is_empty() && !directory.join(IDENTITY).exists() {
            self.for_card(options)
        } else {
            self.for_configuration(options)
        }
    }

    fn for_card(&mut self, options: &mut Options) -> Result<()> {
        let text = |text: &str| {
            if text.is_empty() { bail!("something is needed here") } else { Ok(text.to_owned()) }
        };
        writeln!(
            self.questions,
            "This makes the server's keys, and a card for the two other operators."
        )?;
        options.name = Some(self.ask(
            "Your name, or your organisation's, as participants will see it",
            "",
            text,
        )?);
        options.url =
            Some(self.ask("Public address, as in https://ostrakon.example", "", |url| {
                check_url(url)?;
                Ok(url.to_owned())
            })?);
        let host = options
            .url
            .as_deref()
            .and_then(|url| url.split("://").nth(1)?.split(':').next())
            .unwrap_or_default();
        let default = format!("{host}:7100");
        options.address =
            Some(self.ask("Where the two other servers reach this one", &default, |address| {
                check_address(address)?;
                Ok(address.to_owned())
            })?);
        Ok(())
    }

    fn for_configuration(&mut self, options: &mut Options) -> Result<()> {
        writeln!(
            self.questions,
            "There is a key. This makes the configuration, from the two other operators' cards."
        )?;
        let file = |text: &str| {
            let path = Path::new(text);
            if path.is_file() {
                Ok(path.to_owned())
            } else {
                bail!("there is no file {}", path.display())
            }
        };
        while options.card.len() < 2 {
            let question = if options.card.is_empty() {
                "File with the first card"
            } else {
                "File with the second card"
            };
            options.card.push(self.ask(question, "", file)?);
        }
        let way = |text: &str| {
            if matches!(text, "1" | "2" | "3") { Ok(text.to_owned()) } else { bail!("1, 2 or 3") }
        };
        let question =
            "HTTPS: (1) certificate files, (2) certificates ordered by ACME, (3) a proxy in front";
        match self.ask(question, "2", way)?.as_str() {
            "1" => {
                options.certificate =
                    Some(self.ask("File with the certificate, in PEM", "certificate.pem", file)?);
                options.certificate_key =
                    Some(self.ask("File with its key, in PEM", "key.pem", file)?);
            }
            "2" => {
                let domain = |text: &str| {
                    if text.contains('.') { Ok(text.to_owned()) } else { bail!("a host's name") }
                };
                options.acme_domain = vec![self.ask("Name on the certificate", "", domain)?];
                let contact = self.ask(
                    "Address for the authority's letters, as in mailto:you@example.org",
                    "-",
                    |text| {
                        if text == "-" || text.starts_with("mailto:") {
                            Ok(text.to_owned())
                        } else {
                            bail!("mailto:… or -")
                        }
                    },
                )?;
                options.acme_contact = if contact == "-" { Vec::new() } else { vec![contact] };
            }
            _ => options.behind_proxy = true,
        }
        let address = |text: &str| text.parse::<SocketAddr>().context("ADDRESS:PORT");
        let default = if options.behind_proxy { "127.0.0.1:7000" } else { "0.0.0.0:443" };
        options.http = Some(self.ask("Where the public interface listens", default, address)?);
        options.mesh = Some(self.ask(
            "Where this server listens for the two others",
            "0.0.0.0:7100",
            address,
        )?);
        Ok(())
    }
}
