//! Limits that no linter knows: the length of files and lines, the files of a folder, the subjects
//! of commits, marks of unfinished work, and planted defects that do not fit the sources any more.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::{mutants, shell};

/// A source file above this length is two files.
const MOST_LINES: usize = 600;
/// Columns of code and comments. Lines that hold a text in quotation marks may be longer: a text
/// that is cut is not found by searching for it.
const MOST_COLUMNS: usize = 100;
/// Source files that lie in one folder.
const MOST_FILES: usize = 15;
/// Letters of a commit's subject.
const MOST_SUBJECT: usize = 72;
/// Commits before this day were made under no limit.
const SUBJECTS_SINCE: &str = "2026-11-23T10:40:00Z";

/// Words that mark unfinished work, split so that this file does not contain them.
const UNFINISHED: [&str; 3] = [concat!("to", "do"), concat!("fix", "me"), concat!("xx", "x")];

/// Checks every source file that git tracks or would track, and the subjects of commits.
///
/// # Errors
/// If a limit is exceeded, something is marked as unfinished or a defect cannot be planted; all of
/// it is printed.
pub fn check() -> Result<()> {
    let listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let names = String::from_utf8(shell::output(shell::program("git").args(listing))?)?;
    let mut complaints = Vec::new();
    let mut folders = BTreeMap::<&str, usize>::new();
    for name in names.split_terminator('\0').filter(|name| is_source(name)) {
        let path = shell::root().join(name);
        // A file that was deleted but is still tracked is not there to be read.
        if path.is_file() {
            let text =
                fs::read_to_string(&path).with_context(|| format!("{name} cannot be read"))?;
            complaints.extend(complaints_about(name, &text));
            *folders.entry(folder(name)).or_default() += 1;
        }
    }
    complaints.extend(crowded(&folders));
    let since = format!("--since={SUBJECTS_SINCE}");
    let log = ["log", "--no-merges", "--format=%h %s", &since];
    let subjects = String::from_utf8(shell::output(shell::program("git").args(log))?)?;
    complaints.extend(subjects.lines().filter_map(long_subject));
    complaints.extend(mutants::unfitting());
    if complaints.is_empty() {
        return Ok(());
    }
    bail!("{}", complaints.join("\n"))
}

fn folder(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Folders that hold more files than they may.
fn crowded(folders: &BTreeMap<&str, usize>) -> Vec<String> {
    let full = folders.iter().filter(|(_, files)| MOST_FILES < **files);
    let full = full.map(|(folder, files)| {
        format!("{folder}: {files} source files, more than {MOST_FILES}; make folders by subject")
    });
    full.collect()
}

/// What is wrong with a line of `git log` that has a commit's name and its subject.
fn long_subject(line: &str) -> Option<String> {
    let (commit, subject) = line.split_once(' ')?;
    let letters = subject.chars().count();
    (MOST_SUBJECT < letters)
        .then(|| format!("{commit}: its subject has {letters} letters, more than {MOST_SUBJECT}"))
}

/// Whether a line is too long for what it holds.
fn is_too_wide(line: &str) -> bool {
    let text = line.contains(['"', '\'', '`']) || line.ends_with('\\');
    let comment = ["//", "/*", "* ", "<!--"].iter().any(|mark| line.trim_start().starts_with(mark));
    MOST_COLUMNS < line.chars().count() && (comment || !text)
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
    // What stands in the page's words, styles and patterns is text.
    if matches!(extension(name), Some("rs" | "ts" | "mjs")) && !name.ends_with(".d.ts") {
        let wide = (1..).zip(text.lines()).filter(|(_, line)| is_too_wide(line));
        complaints.extend(wide.map(|(number, _)| {
            format!("{name}:{number}: more than {MOST_COLUMNS} columns; break the line")
        }));
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
    use std::collections::BTreeMap;

    use super::{
        MOST_COLUMNS, MOST_FILES, MOST_LINES, UNFINISHED, complaints_about, crowded, is_source,
        long_subject,
    };

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
    fn a_wide_line_is_found_unless_it_holds_a_text() {
        let wide = "x".repeat(MOST_COLUMNS + 1);
        assert_eq!(complaints_about("a.rs", &wide).len(), 1);
        assert_eq!(complaints_about("a.rs", &format!("// `a` {wide}")).len(), 1);
        assert!(complaints_about("a.rs", &format!("f(\"{wide}\")")).is_empty());
        assert!(complaints_about("a.rs", &"é".repeat(MOST_COLUMNS)).is_empty());
    }

    #[test]
    fn a_crowded_folder_is_found() {
        let complaints = crowded(&BTreeMap::from([("a", MOST_FILES + 1), ("b", MOST_FILES)]));
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].starts_with("a: "), "{complaints:?}");
    }

    #[test]
    fn a_long_subject_is_found() {
        assert!(long_subject(&format!("abc1234 {}", "x".repeat(72))).is_none());
        assert!(long_subject(&format!("abc1234 {}", "x".repeat(73))).is_some());
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
