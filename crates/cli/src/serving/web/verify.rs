//! `ostrakon verify-web`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use ostrakon_crypto::VerifyingKey;
use ostrakon_mixing::link::Link;
use serde::Serialize;

use super::manifest::{LONGEST, MANIFEST, Manifest, Release, SIGNATURE, release_digest, sha256};
use crate::client::{Connection, Room, http_client};
use crate::{failure, output, secret};

/// The longest file of a page that is read.
const LONGEST_FILE: usize = 32 << 20;

/// Options of `verify-web`.
#[derive(clap::Args)]
pub struct Options {
    /// A room's link, whose servers are all asked; or the origins of servers (`https://HOST`). `-`
    /// takes a link from standard input, `@FILE` from a file.
    #[arg(required = true, value_name = "LINK|ORIGIN", value_parser = secret::argument)]
    servers: Vec<String>,
    /// The release's key, 64 hexadecimal digits: the list of files must be signed by it.
    #[arg(long, value_parser = key)]
    release: Option<VerifyingKey>,
    /// The folder of a page that you built yourself: every server must serve exactly this one.
    #[arg(long)]
    dist: Option<PathBuf>,
    /// Prints the result as JSON.
    #[arg(long)]
    json: bool,
}

fn key(text: &str) -> Result<VerifyingKey, String> {
    VerifyingKey::from_hex(text)
        .ok_or_else(|| "a key has 64 lower-case hexadecimal digits".to_owned())
}

/// What one server serves.
#[derive(Debug, Serialize)]
struct Served {
    origin: String,
    /// SHA-256 of the list of files.
    list: Option<String>,
    files: usize,
    /// What is wrong, in words.
    complaints: Vec<String>,
}

/// Fetches every file of the page from every server, and compares.
///
/// # Errors
/// With exit code 3 if a server serves something else than its list says, or the lists differ from
/// each other, from the release's or from the built page; 4 if a server does not answer.
pub async fn run(options: Options) -> Result<()> {
    let http = http_client()?;
    let origins = origins(&http, &options.servers).await?;
    let expected = options.dist.as_ref().map(|dist| std::fs::read(dist.join(MANIFEST)));
    let expected =
        expected.transpose().context("the built page has no list of files: build it first")?;
    let mut all = Vec::new();
    for origin in origins {
        all.push(
            check(
                &Connection::new(http.clone(), &origin),
                options.release.as_ref(),
                expected.as_deref(),
            )
            .await?,
        );
    }
    compare(&mut all);
    report(&all, options.json)
}

async fn origins(http: &reqwest::Client, named: &[String]) -> Result<Vec<String>> {
    let mut origins = Vec::new();
    for text in named {
        if text.contains("/#/") {
            let link: Link = text.parse()?;
            let room = Room::open(http, link).await?;
            origins
                .extend(room.connections.iter().map(|connection| connection.origin().to_owned()));
        } else if text.starts_with("https://") || text.starts_with("http://") {
            origins.push(text.trim_end_matches('/').to_owned());
        } else {
            bail!("{text:?} is neither a room's link nor an origin such as https://HOST");
        }
    }
    Ok(origins)
}

/// Fetches and checks one server's page.
async fn check(
    server: &Connection,
    release: Option<&VerifyingKey>,
    expected: Option<&[u8]>,
) -> Result<Served> {
    let mut served =
        Served { origin: server.origin().to_owned(), list: None, files: 0, complaints: Vec::new() };
    let list = match server.file(MANIFEST, LONGEST).await.map_err(failure::call)? {
        Ok(file) => file.bytes,
        Err(status) => {
            served.complaints.push(format!(
                "serves no {MANIFEST} (HTTP {status}): not a page that can be checked"
            ));
            return Ok(served);
        }
    };
    served.list = Some(sha256(&list));
    if expected.is_some_and(|expected| expected != list) {
        served.complaints.push("serves another page than the one built here".into());
    }
    if let Some(key) = release
        && let Err(error) = check_release(server, key, &list).await
    {
        served.complaints.push(error.to_string());
    }
    match Manifest::read(&list) {
        Ok(manifest) => check_files(server, &manifest, &mut served).await?,
        Err(error) => served.complaints.push(error.to_string()),
    }
    Ok(served)
}

async fn check_release(server: &Connection, key: &VerifyingKey, list: &[u8]) -> Result<()> {
    let file = server.file(SIGNATURE, LONGEST).await.map_err(failure::call)?;
    let file = file
        .map_err(|status| anyhow::anyhow!("serves no signature of the release (HTTP {status})"))?;
    let release: Release =
        serde_json::from_slice(&file.bytes).context("the signature of the release is malformed")?;
    ensure!(
        release.key == *key,
        "the page is signed by another key than the release's: {}",
        release.key.to_hex()
    );
    ensure!(
        key.verifies(&release_digest(list), &release.signature),
        "the release's key did not sign this page"
    );
    Ok(())
}

async fn check_files(server: &Connection, manifest: &Manifest, served: &mut Served) -> Result<()> {
    // The entrance is what people get under the bare address.
    let entrance = manifest.files.get("index.html").map(|digest| ("", digest));
    let files = manifest.files.iter().map(|(path, digest)| (path.as_str(), digest));
    for (path, digest) in entrance.into_iter().chain(files) {
        let shown = if path.is_empty() { "/" } else { path };
        match server.file(path, LONGEST_FILE).await.map_err(failure::call)? {
            Ok(file) if sha256(&file.bytes) != *digest => {
                served.complaints.push(format!("{shown} is not what the list says"))
            }
            Ok(file) if path.is_empty() && !file.confined => {
                served
                    .complaints
                    .push("its policy lets the page run scripts from elsewhere or inline".into());
            }
            Ok(_) => served.files += 1,
            Err(status) => served.complaints.push(format!("{shown} is missing (HTTP {status})")),
        }
    }
    Ok(())
}

/// Every server must serve what the first one does.
fn compare(all: &mut [Served]) {
    let Some((first, others)) = all.split_first_mut() else { return };
    for other in others {
        if other.list != first.list {
            other.complaints.push(format!("serves another page than {}", first.origin));
        }
    }
}

fn report(all: &[Served], json: bool) -> Result<()> {
    let sound = all.iter().all(|served| served.complaints.is_empty());
    if json {
        output::json(&serde_json::json!({ "same": sound, "servers": all }))?;
    } else {
        for served in all {
            let list = served.list.as_deref().unwrap_or("none");
            output::line(&format!("{}: {} files, list {list}", served.origin, served.files))?;
            served
                .complaints
                .iter()
                .try_for_each(|complaint| output::line(&format!("  {complaint}")))?;
        }
    }
    if sound {
        Ok(())
    } else {
        Err(failure::unproven("the servers do not all serve the page that they should"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_with_another_page_is_named() {
        let served = |origin: &str, list: &str| {
            let (origin, list) = (origin.into(), Some(list.into()));
            Served { origin, list, files: 1, complaints: Vec::new() }
        };
        let mut all = vec![served("a", "1"), served("b", "1"), served("c", "2")];
        compare(&mut all);
        assert!(all[0].complaints.is_empty() && all[1].complaints.is_empty());
        assert_eq!(all[2].complaints, ["serves another page than a"]);
        assert!(report(&all, false).is_err());
    }
}
