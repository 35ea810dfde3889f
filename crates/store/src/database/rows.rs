//! Statements about many rows at once.
//!
//! Preparing a statement costs more than carrying it out, and what it costs to number and bind
//! parameters grows with the square of how many there are. So a list is cut into pieces of few
//! lengths ([`pieces`]), and each length has one statement text, which the connection keeps
//! prepared.

use std::fmt::Write as _;

/// The longest piece.
const LONGEST: usize = 16;

/// Cuts a list into pieces whose lengths are powers of two, at most 16.
pub(crate) fn pieces<T>(mut list: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let length = (1 << list.len().checked_ilog2()?).min(LONGEST);
        let (piece, rest) = list.split_at(length);
        list = rest;
        Some(piece)
    })
}

/// `($1, $2), ($3, $4)`, and so on; each row begins with its number, from 0, if `numbered`.
pub(crate) fn values(rows: usize, columns: usize, numbered: bool) -> String {
    let mut text = String::new();
    for row in 0..rows {
        text.push_str(if row == 0 { "(" } else { ", (" });
        if numbered {
            write!(text, "{row}, ").expect("a string takes everything");
        }
        for column in 1..=columns {
            let comma = if column == 1 { "" } else { ", " };
            write!(text, "{comma}${}", row * columns + column).expect("a string takes everything");
        }
        text.push(')');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_list_in_order_and_have_five_lengths() {
        for length in 0..100 {
            let list: Vec<_> = (0..length).collect();
            assert_eq!(pieces(&list).flatten().copied().collect::<Vec<_>>(), list);
            assert!(pieces(&list).all(|piece| [1, 2, 4, 8, 16].contains(&piece.len())), "{length}");
        }
    }

    #[test]
    fn rows_of_parameters_are_numbered_on() {
        assert_eq!(values(2, 2, false), "($1, $2), ($3, $4)");
        assert_eq!(values(2, 1, true), "(0, $1), (1, $2)");
    }
}
