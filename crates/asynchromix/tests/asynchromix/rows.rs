//! A row says what was put into it, in its room and epoch; everything else is noise.

use ostrakon_asynchromix::row::{Said, bytes, decode, encode};
use ostrakon_crypto::Digest;

const PAYLOAD: usize = 5;

#[test]
fn a_row_is_read_in_its_room_and_epoch_only() {
    let (room, other) = (Digest([1; 32]), Digest([2; 32]));
    for said in [Said::Message(vec![]), Said::Message(b"hello".to_vec()), Said::Cover] {
        let row = encode(&room, 7, &said, PAYLOAD).unwrap();
        assert_eq!(row.len(), bytes(PAYLOAD));
        assert_eq!(decode(&room, 7, &row), Some(said));
        assert_eq!(decode(&room, 8, &row), None);
        assert_eq!(decode(&other, 7, &row), None);
    }
    assert_eq!(encode(&room, 7, &Said::Message(vec![0; PAYLOAD + 1]), PAYLOAD), None);
}

/// Not even one bit off is it a row: what a changed pad leaves is noise, and nobody's message.
#[test]
fn a_row_that_is_changed_anywhere_is_noise() {
    let room = Digest([1; 32]);
    let row = encode(&room, 7, &Said::Message(b"hello".to_vec()), PAYLOAD).unwrap();
    for bit in 0..8 * row.len() {
        let mut changed = row.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(decode(&room, 7, &changed), None, "bit {bit}");
    }
    for length in 0..row.len() {
        assert_eq!(decode(&room, 7, &row[..length]), None, "{length} bytes");
    }
}
