//! The list of a page's files with their digests, and the release's signature on it.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use ostrakon_crypto::{Digest, Signature, Transcript, VerifyingKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The list's name on a server; the page's build writes it.
pub const MANIFEST: &str = "hashes.json";
/// The signature's name.
pub const SIGNATURE: &str = "hashes.signature.json";
/// The longest list that is read.
pub const LONGEST: usize = 1 << 20;
/// Files of a page at most.
const MOST_FILES: usize = 2000;

/// The files of a page: SHA-256, hexadecimal, by path.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// By path, relative to the page's folder.
    pub files: BTreeMap<String, String>,
}

impl Manifest {
    /// Reads a list.
    ///
    /// # Errors
    /// If it is malformed, names too many files or files outside the page, or lacks `index.html`.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let manifest: Self =
            serde_json::from_slice(bytes).context("the list of files is malformed")?;
        ensure!(manifest.files.len() <= MOST_FILES, "the list names more than {MOST_FILES} files");
        ensure!(manifest.files.contains_key("index.html"), "the list does not name index.html");
        for path in manifest.files.keys() {
            let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
            let known = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
            if !path.split('/').all(plain) || !path.chars().all(known) {
                bail!("the list names a file outside the page: {path:?}");
            }
        }
        Ok(manifest)
    }
}

/// SHA-256, hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}

/// Who released the page.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The release's key.
    pub key: VerifyingKey,
    /// By it, on [`release_digest`].
    pub signature: Signature,
}

/// What a release signs: the list's bytes.
pub fn release_digest(manifest: &[u8]) -> Digest {
    Transcript::new("ostrakon/v1/release/page").field(manifest).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_files_of_the_page_only() {
        let with = |path: &str| format!(r#"{{"files": {{"index.html": "00", "{path}": "00"}}}}"#);
        assert_eq!(Manifest::read(with("assets/a-1.js").as_bytes()).unwrap().files.len(), 2);
        for path in
            ["../secret", "/etc/passwd", "a//b", "a/./b", "a?b", "a\\\\b", "http://elsewhere"]
        {
            assert!(Manifest::read(with(path).as_bytes()).is_err(), "{path}");
        }
        assert!(Manifest::read(br#"{"files": {}}"#).is_err());
        assert!(Manifest::read(b"<html>").is_err());
    }

    #[test]
    fn digests_are_those_of_other_programs() {
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "FIPS 180-2, B.1"
        );
    }
}
