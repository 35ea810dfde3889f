//! Reading a configuration with all its mistakes: what is wrong is reported and taken out, and the
//! rest read on.

use std::path::Path;

use ostrakon_node::config::Config;
use ostrakon_node::{EngineProvider, ThreeServers};
use toml::de::Error;

use super::Findings;

/// Mistakes that are reported at most.
const MOST: usize = 50;

/// Reads a configuration; `None` if too much is wrong for the rest to be checked.
pub fn read(path: &Path, findings: &mut Findings) -> Option<Config> {
    let mut text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            findings.error(format!("cannot be read: {error}"));
            return None;
        }
    };
    let mut taken_out: Vec<String> = Vec::new();
    for _ in 0..MOST {
        let error = match toml::from_str::<Config>(&text) {
            Ok(mut config) => {
                config.resolve(path.parent().unwrap_or(Path::new(".")));
                for problem in config.problems() {
                    findings.error(problem);
                }
                let trusts = ThreeServers.trusts(config.servers.len());
                let is_one_of_them = usize::from(config.party) < config.servers.len();
                return match trusts {
                    Ok(_) => is_one_of_them.then_some(config),
                    Err(problem) => {
                        findings.error(problem);
                        None
                    }
                };
            }
            Err(error) => error,
        };
        // What was taken out is missing, which is no news.
        let old_news =
            missing(&error).is_some_and(|name| taken_out.iter().any(|taken| taken == name));
        if old_news {
            return None;
        }
        findings.error(explain(&text, &error));
        let cut = error.span().and_then(|span| take_out(&mut text, span.start));
        match cut {
            Some(name) => taken_out.push(name),
            None => return None,
        }
    }
    None
}

/// The setting that an error says is missing.
fn missing(error: &Error) -> Option<&str> {
    error.message().strip_prefix("missing field `")?.split('`').next()
}

/// The error in one line, with the line in the file and the name that was probably meant.
fn explain(text: &str, error: &Error) -> String {
    let place =
        error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let place = place.map(|line| format!("line {line}: ")).unwrap_or_default();
    let message = error.message();
    let Some((name, rest)) =
        message.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'))
    else {
        return format!("{place}{}", message.replace('\n', " "));
    };
    let known = rest.split('`').skip(1).step_by(2);
    let nearest = known.map(|known| (distance(name, known), known)).min();
    let meant = nearest.filter(|(distance, known)| *distance <= 1 + known.len() / 4);
    match meant {
        Some((_, known)) => format!("{place}there is no setting `{name}`; do you mean `{known}`?"),
        None => format!("{place}there is no setting `{name}`{}", rest.replace('\n', " ")),
    }
}

/// Takes out the line at `position`, or, if it is the head of a table, the table. Returns the
/// setting's name.
fn take_out(text: &mut String, position: usize) -> Option<String> {
    let start = text.get(..position)?.rfind('\n').map_or(0, |end| end + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |end| start + end + 1);
    let line = text[start..line_end].trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let name = line.trim_matches(['[', ']']).split('=').next()?.trim().to_owned();
    let is_table = line.starts_with('[');
    let end = if is_table {
        text[line_end..].find("\n[").map_or(text.len(), |end| line_end + end + 1)
    } else {
        line_end
    };
    // Lines stay where they are, for the numbers in what is reported later.
    let blank = "\n".repeat(text[start..end].matches('\n').count());
    text.replace_range(start..end, &blank);
    Some(name)
}

/// How many letters have to be put in, left out or changed (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in to.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_letters() {
        assert_eq!(distance("htp", "http"), 1);
        assert_eq!(distance("stok", "stock"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("mesh", "mesh"), 0);
    }

    #[test]
    fn tables_are_taken_out_whole_and_lines_keep_their_numbers() {
        let mut text = "a = 1\n[b]\nc = 2\n[d]\ne = 3\n".to_owned();
        assert_eq!(take_out(&mut text, 7).as_deref(), Some("b"));
        assert_eq!(text, "a = 1\n\n\n[d]\ne = 3\n");
        assert_eq!(take_out(&mut text, 0).as_deref(), Some("a"));
        assert_eq!(take_out(&mut text, 0), None);
    }
}
