//! The shells know no job: what serves any job of a deployment names none, but in one registry.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Crates that serve any job, and what of their sources may name one: their registries, and the
/// paths that a job has of its own.
const SHELLS: [(&str, &[&str]); 4] = [
    ("api", &["jobs/registry.rs", "decisions/"]),
    ("net", &[]),
    ("node", &["provider/three.rs"]),
    ("store", &[]),
];

/// What names a job.
const JOBS: [&str; 6] = [
    "ostrakon_decide",
    "ostrakon_decisions",
    "decisions::",
    "ostrakon_graph",
    "ostrakon_messaging",
    "ostrakon_stats",
];

/// Where a shell names a job: the crate, and file, line and name.
///
/// # Errors
/// If a file cannot be read.
pub fn named_jobs(crates: &Path) -> Result<Vec<(&'static str, String)>> {
    let mut found = Vec::new();
    for (shell, may) in SHELLS {
        let folder = crates.join(shell).join("src");
        let mut texts = Vec::new();
        read(&folder, "", &mut texts)?;
        for (file, text) in texts {
            if !may.iter().any(|may| file.starts_with(may)) {
                found.extend(names(&file, &text).map(|name| (shell, name)));
            }
        }
    }
    Ok(found)
}

fn names(file: &str, text: &str) -> impl Iterator<Item = String> {
    let lines = (1..).zip(text.lines());
    let named = lines.filter_map(move |(number, line)| {
        let job = JOBS.into_iter().find(|job| line.contains(job))?;
        Some(format!("{file}:{number} names {job}"))
    });
    named.collect::<Vec<_>>().into_iter()
}

/// The sources below a folder: each file's name, after `at`, and its text.
///
/// # Errors
/// If one cannot be read.
pub fn read(folder: &Path, at: &str, texts: &mut Vec<(String, String)>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        let name = format!("{at}{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            read(&path, &format!("{name}/"), texts)?;
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            texts.push((name, text));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_a_shell_names_is_found_and_where() {
        let text = "use std::fmt;\nuse ostrakon_decide::Chain;\n\nfn due() { decide(); }\n";
        assert_eq!(
            names("state/mod.rs", text).collect::<Vec<_>>(),
            ["state/mod.rs:2 names ostrakon_decide"]
        );
        let word = "/// Takes decisions: which epoch is due.\nmod decisions;\n";
        assert_eq!(names("lib.rs", word).count(), 0, "the word alone is no job");
        assert_eq!(names("a.rs", "    merge(decisions::routes())").count(), 1);
    }

    #[test]
    fn what_may_name_a_job_does_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for (shell, file) in [
            ("api", "decisions/mod.rs"),
            ("api", "jobs/registry.rs"),
            ("api", "router.rs"),
            ("net", "lib.rs"),
            ("node", "provider/mod.rs"),
            ("node", "provider/three.rs"),
            ("store", "jobs/words.rs"),
        ] {
            let path = folder.path().join(shell).join("src").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "use ostrakon_decisions::Word;").unwrap();
        }
        let mut found = named_jobs(folder.path()).unwrap();
        found.sort();
        let expected = [("api", "router.rs"), ("net", "lib.rs"), ("node", "provider/mod.rs")];
        let expected = expected.into_iter().chain([("store", "jobs/words.rs")]);
        let expected: Vec<_> = expected
            .map(|(shell, file)| (shell, format!("{file}:1 names ostrakon_decisions")))
            .collect();
        assert_eq!(found, expected);
    }
}
