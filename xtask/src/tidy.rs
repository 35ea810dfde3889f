//! Limits that no linter knows: the length of files and marks of unfinished work.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::shell;

/// A source file above this length is two files.
const MOST_LINES: usize = 600;

/// Words that mark unfinished work, split so that this file does not contain them.
const UNFINISHED: [&str; 3] = [concat!("to", "do"), concat!("fix", "me"), concat!("xx", "x")];

/// Checks every source file that git tracks or would track.
///
/// # Errors
/// If a file is too long or contains a mark of unfinished work; all of them are printed.
pub fn check() -> Result<()> {
    let listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let names = String::from_utf8(shell::output(shell::program("git").args(listing))?)?;
    let mut complaints = Vec::new();
    for name in names.split_terminator('\0').filter(|name| is_source(name)) {
        let path = shell::root().join(name);
        // A file that was deleted but is still tracked is not there to be read.
        if path.is_file() {
            let text =
                fs::read_to_string(&path).with_context(|| format!("{name} cannot be read"))?;
            complaints.extend(complaints_about(name, &text));
        }
    }
    if complaints.is_empty() {
        return Ok(());
    }
    bail!("{}", complaints.join("\n"))
}

fn is_source(name: &str) -> bool {
    matches!(extension(name), Some("rs" | "ts" | "js" | "mjs" | "svelte" | "css"))
}

fn extension(name: &str) -> Option<&str> {
    Path::new(name).extension()?.to_str()
}

fn complaints_about(name: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        for word in
            words.filter(|word| UNFINISHED.iter().any(|mark| word.eq_ignore_ascii_case(mark)))
        {
            complaints.push(format!(
                "{name}:{number}: `{word}` marks unfinished work; finish it or leave it out"
            ));
        }
    }
    let lines = text.lines().count();
    // Declarations are generated from the API's description, in one piece.
    let limited =
        matches!(extension(name), Some("rs" | "ts" | "svelte")) && !name.ends_with(".d.ts");
    if limited && MOST_LINES < lines {
        complaints
            .push(format!("{name}: {lines} lines, more than {MOST_LINES}; split it by subject"));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::{MOST_LINES, UNFINISHED, complaints_about, is_source};

    #[test]
    fn a_mark_is_found_as_a_word_in_any_case() {
        let text = format!("fn a() {{}}\n// {}: the rest\n", UNFINISHED[0].to_uppercase());
        let complaints = complaints_about("a.rs", &text);
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].starts_with("a.rs:2: "), "{}", complaints[0]);
    }

    #[test]
    fn a_mark_inside_a_longer_word_is_no_mark() {
        assert!(complaints_about("a.rs", &format!("let mas{}n = 1;", UNFINISHED[0])).is_empty());
    }

    #[test]
    fn only_hand_written_code_is_limited_in_length() {
        let long = "\n".repeat(MOST_LINES + 1);
        assert_eq!(complaints_about("a.rs", &long).len(), 1);
        assert_eq!(complaints_about("a.svelte", &long).len(), 1);
        assert!(complaints_about("a.d.ts", &long).is_empty());
        assert!(complaints_about("a.rs", &"\n".repeat(MOST_LINES)).is_empty());
    }

    #[test]
    fn only_sources_are_read() {
        assert!(is_source("crates/field/src/lib.rs"));
        assert!(!is_source("README.md"));
    }
}
