//! What manifests may say: whose process knows its own signatures, and where no test is inside.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::shells::read;

/// The feature by which a process does not verify what it has signed itself, and who may name it:
/// who has it, and the harness.
const OWN_SIGNATURES: &str = "own-signatures";
const MAY_KNOW_OWN: [&str; 2] = ["crypto", "testkit"];

/// By which a manifest says that its library is not compiled for tests.
const UNTESTED: &str = "\n[lib]\n# No test is inside.\ntest = false\n";
/// What a test inside begins with.
const TEST: &str = "#[cfg(test)]";

/// What is wrong with the manifests of the crates: the crate, what, and the rule that it breaks.
///
/// # Errors
/// If a file cannot be read.
pub fn complaints(crates: &Path) -> Result<Vec<(String, String, &'static str)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(crates).with_context(|| crates.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let manifest = entry.path().join("Cargo.toml");
        let manifest = fs::read_to_string(&manifest)
            .with_context(|| format!("{} cannot be read", manifest.display()))?;
        if manifest.contains(OWN_SIGNATURES) && !MAY_KNOW_OWN.contains(&name.as_str()) {
            let rule = "only testkit lets a process know its own signatures";
            found.push((name.clone(), OWN_SIGNATURES.to_owned(), rule));
        }
        if !manifest.contains(UNTESTED) {
            continue;
        }
        let mut texts = Vec::new();
        read(&entry.path().join("src"), "", &mut texts)?;
        for (file, _) in texts.iter().filter(|(_, text)| text.contains(TEST)) {
            let rule = "tests inside a library that is not compiled for tests are never run";
            found.push((name.clone(), file.clone(), rule));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{TEST, UNTESTED, complaints};
    use std::fs;

    #[test]
    fn tests_that_nobody_would_run_and_features_for_tests_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let feature = "\n[features]\nown-signatures = []\n";
        let crates = [
            ("crypto", feature, TEST),
            ("node", feature, TEST),
            ("job", UNTESTED, ""),
            ("protocol", UNTESTED, TEST),
        ];
        for (name, manifest, source) in crates {
            let src = folder.path().join(name).join("src");
            fs::create_dir_all(&src).unwrap();
            fs::write(src.join("lib.rs"), source).unwrap();
            fs::write(folder.path().join(name).join("Cargo.toml"), manifest).unwrap();
        }
        let mut found = complaints(folder.path()).unwrap();
        found.sort();
        let found: Vec<_> = found.iter().map(|(of, what, _)| (&of[..], &what[..])).collect();
        assert_eq!(found, [("node", "own-signatures"), ("protocol", "lib.rs")]);
    }
}
