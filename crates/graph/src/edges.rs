//! Lists of edges as people have them: `src,dst` lines, and the format of SNAP (tabs or spaces, `#`
//! before comments).

use std::collections::BTreeMap;

use crate::owner::Edge;

/// Names of vertices, numbered in the job's order. Owners must use the same one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(BTreeMap<String, u32>);

/// Why a list of edges cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// A line that is not two names.
    #[error("line {0}: expected two names, separated by a comma, a tab or spaces")]
    Line(usize),
    /// A name that the job does not have.
    #[error("line {0}: the job has no vertex {1:?}")]
    Unknown(usize, String),
    /// Names that occur twice, or are too many.
    #[error("the name {0:?} occurs twice")]
    Twice(String),
}

impl Names {
    /// One name a line; the first one is vertex 0.
    ///
    /// # Errors
    /// [`ReadError::Twice`].
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let mut names = BTreeMap::new();
        for (_, name) in lines(text) {
            let number = u32::try_from(names.len()).map_err(|_| ReadError::Twice(name.into()))?;
            if names.insert(name.to_owned(), number).is_some() {
                return Err(ReadError::Twice(name.to_owned()));
            }
        }
        Ok(Self(names))
    }

    /// How many vertices there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The vertex of a name.
    pub fn vertex(&self, name: &str) -> Option<u32> {
        self.0.get(name).copied()
    }

    /// Reads edges, one a line; a third field is not read. A first line `src,dst` is a heading.
    ///
    /// # Errors
    /// [`ReadError::Line`] or [`ReadError::Unknown`].
    pub fn edges(&self, text: &str) -> Result<Vec<Edge>, ReadError> {
        edge_lines(text).map(|(number, line)| self.edge(number, line)).collect()
    }

    /// The names that occur in a list of edges, in its order, as often as they do.
    ///
    /// # Errors
    /// [`ReadError::Line`].
    pub fn in_edges(text: &str) -> Result<Vec<&str>, ReadError> {
        let mut names = Vec::new();
        for (number, line) in edge_lines(text) {
            names.extend(ends(number, line)?);
        }
        Ok(names)
    }

    fn edge(&self, number: usize, line: &str) -> Result<Edge, ReadError> {
        let [source, target] = ends(number, line)?;
        let vertex = |name: &str| {
            self.vertex(name).ok_or_else(|| ReadError::Unknown(number, name.to_owned()))
        };
        Ok(Edge { source: Some(vertex(source)?), target: Some(vertex(target)?) })
    }
}

/// Lines that are edges.
fn edge_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let heading = |(_, line): &(usize, &str)| {
        let line: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        line == "src,dst" || line == "src,dst,weight"
    };
    let mut lines = lines(text).peekable();
    lines.next_if(heading);
    lines
}

/// The two names on a line.
fn ends(number: usize, line: &str) -> Result<[&str; 2], ReadError> {
    let fields: Vec<&str> = if line.contains(',') {
        line.split(',').map(str::trim).collect()
    } else {
        line.split_whitespace().collect()
    };
    match fields[..] {
        [source, target] | [source, target, _] if !source.is_empty() && !target.is_empty() => {
            Ok([source, target])
        }
        _ => Err(ReadError::Line(number)),
    }
}

/// Lines that say something, with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_are_read_and_nothing_else() {
        let names = Names::read("# people\nanna\nben\n\n7\n").unwrap();
        assert_eq!((names.len(), names.vertex("7"), names.vertex("x")), (3, Some(2), None));
        let edge = |source, target| Edge { source: Some(source), target: Some(target) };
        let want = Ok(vec![edge(0, 1), edge(1, 2)]);
        assert_eq!(names.edges("src,dst\nanna,ben\nben, 7,0.5\n"), want);
        assert_eq!(names.edges("# FromNodeId ToNodeId\nanna\tben\nben 7\n"), want);
        assert_eq!(names.edges(""), Ok(Vec::new()));
        for (text, line) in [("anna", 1), ("anna,ben\nanna,", 2), ("a b c d", 1), (",ben", 1)] {
            assert_eq!(names.edges(text), Err(ReadError::Line(line)), "{text:?}");
        }
        assert_eq!(names.edges("anna,carl"), Err(ReadError::Unknown(1, "carl".to_owned())));
        assert_eq!(Names::read("a\na"), Err(ReadError::Twice("a".to_owned())));
    }
}
