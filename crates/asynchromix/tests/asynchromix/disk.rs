//! How a server's durable values are written.

use ostrakon_asynchromix::disk::{Key, Write};
use ostrakon_party::wire;

/// Though a value is written in one piece, it is a list of bytes to every reader.
#[test]
fn values_are_encoded_as_lists_of_bytes_are() {
    for length in [0, 1, 127, 128, 5000] {
        let value: Vec<u8> = (0..length).map(|i: usize| i as u8).collect();
        let write = Write::Put(Key::Stock(300), value.clone());
        let bytes = wire::encode(&write);
        assert_eq!(bytes, wire::encode(&(0u8, Key::Stock(300), value)));
        assert_eq!(wire::decode(&bytes), Ok(write));
    }
}
