//! Pseudorandom bytes and pseudorandom changes of valid inputs for every decoder of what a stranger
//! can send. The same decoders are fuzzed (`fuzz/`), which goes deeper and takes longer.

#[path = "../../../fuzz/src/lib.rs"]
mod decoders;

use ostrakon_crypto::hash::digest;

/// Inputs for each decoder. `cargo xtask test --nightly` sets the variable.
fn inputs() -> u64 {
    if ostrakon_testkit::nightly() { 200_000 } else { 500 }
}

#[test]
fn no_decoder_panics_or_accepts_what_it_must_not() {
    for decoder in &decoders::DECODERS {
        for number in 0..inputs() {
            let bytes = digest("ostrakon/v1/testkit/decoder input", &number.to_le_bytes()).0;
            let length = 4 * (1 + number as usize % 8);
            let outcome =
                std::panic::catch_unwind(|| decoders::exercise(decoder.name, &bytes[..length]));
            assert!(
                outcome.is_ok(),
                "decoder {}, input {number}: see the panic above",
                decoder.name
            );
        }
    }
}

#[test]
fn every_valid_input_is_accepted_unchanged() {
    for decoder in &decoders::DECODERS {
        for (place, valid) in decoder.valid.iter().enumerate() {
            assert!(
                (decoder.read)(&valid()),
                "{} refuses its own valid input {place}",
                decoder.name
            );
        }
    }
}

/// Every decoder has its target for the fuzzer, and every target its decoder.
#[test]
fn the_fuzzer_has_a_target_for_every_decoder() {
    let manifest = include_str!("../../../fuzz/Cargo.toml");
    let targets: Vec<_> =
        manifest.lines().filter_map(|line| line.strip_prefix("path = \"fuzz_targets/")).collect();
    let name = |line: &&'static str| line.rsplit('/').next()?.strip_suffix(".rs\"");
    let names: Vec<_> = targets.iter().filter_map(name).collect();
    for decoder in &decoders::DECODERS {
        assert!(names.contains(&decoder.name), "{} is not fuzzed", decoder.name);
    }
    assert_eq!(names.len(), decoders::DECODERS.len());
}
