//! How vertices are called, in files and in drafts.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use ostrakon_graph::asked::{Naming, Terms};
use ostrakon_graph::edges::Names;

use crate::failure;

/// Reads a file of names.
///
/// # Errors
/// If it cannot be read, or a name occurs twice.
pub fn read(path: &Path) -> Result<Names> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{} cannot be read", path.display()))?;
    Names::read(&text).with_context(|| path.display().to_string())
}

/// The names of a draft's vertices; `file` is where they are if they do not stand in it.
///
/// # Errors
/// If a file is needed and not given, or is another one.
pub fn of(terms: &Terms, file: Option<&Path>) -> Result<Names> {
    match &terms.naming {
        Naming::Numbers => Ok(Names::numbers(terms.vertices)),
        Naming::Names(list) => Ok(Names::of(list.iter().map(String::as_str))?),
        Naming::File(digest) => {
            let path = file.context(
                "the vertices' names stand in a file that whoever asked has given you: --names FILE",
            )?;
            let names = read(path)?;
            ensure!(
                names.digest() == *digest && names.len() == terms.vertices as usize,
                failure::unproven(format!(
                    "{} has other names, or another order, than whoever asked has",
                    path.display()
                ))
            );
            Ok(names)
        }
    }
}

/// The names for a result, where they are at hand: otherwise numbers.
///
/// # Errors
/// If the file is another one.
pub fn for_result(terms: &Terms, file: Option<&Path>) -> Result<Names> {
    match (&terms.naming, file) {
        (Naming::File(_), None) => Ok(Names::numbers(terms.vertices)),
        _ => of(terms, file),
    }
}
