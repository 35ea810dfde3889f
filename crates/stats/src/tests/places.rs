//! Where things fall, and who has a say in it.

use ostrakon_crypto::{Digest, Secret, Transcript};

use super::{Scene, different_things};
use crate::{BadPart, ExchangeKey, Part, Places};

fn parts(scene: &Scene) -> Vec<Part> {
    let part = |(i, key)| Part::of(key, i, &scene.scope());
    scene.exchanges.iter().enumerate().map(part).collect()
}

/// Changes a byte of a part.
fn changed(part: &Part, byte: usize) -> Part {
    let mut digits = String::from(part.clone()).into_bytes();
    digits[2 * byte] = if digits[2 * byte] == b'0' { b'1' } else { b'0' };
    String::from_utf8(digits).unwrap().try_into().unwrap()
}

/// Attack: whoever shows its part last, or is asked twice, shows one of its choice.
#[test]
fn a_member_has_one_part_in_a_question_and_no_choice_of_it() {
    let scene = Scene::new(1, 3, different_things());
    let (scope, parts) = (scene.scope(), parts(&scene));
    let places = Places::of(&scope, &parts).unwrap();
    assert_eq!(places, scene.places(), "asked again");
    let refused = |member: usize, part: Part| {
        let mut parts = parts.clone();
        parts[member] = part;
        assert_eq!(Places::of(&scope, &parts), Err(BadPart(member)));
    };
    for member in 0..3 {
        // Its point, and both halves of the proof.
        for byte in [0, 31, 32, 64] {
            refused(member, changed(&parts[member], byte));
        }
        let other = ExchangeKey::from_seed(&Secret::new([77; 32]));
        refused(member, Part::of(&other, member, &scope));
        refused(member, parts[(member + 1) % 3].clone());
        refused(member, Part::of(&scene.exchanges[member], (member + 1) % 3, &scope));
        // It says nothing of its part in any other question.
        let mut other = Scene::new(1, 3, different_things());
        other.subject = Digest([8; 32]);
        refused(member, Part::of(&scene.exchanges[member], member, &other.scope()));
        assert_eq!(
            Places::of(&scope, &parts[..member]),
            Err(BadPart(member)),
            "nor is it left out"
        );
    }
}

/// Attack: whoever asks writes the words so that a thing falls where nobody else's do.
#[test]
fn whoever_writes_the_question_does_not_choose_where_things_fall() {
    // They are a hash of every member's point, and no member has shown its point before.
    let shown = |scene: &Scene| parts(scene).into_iter().map(String::from).collect::<Vec<_>>();
    let [scene, mut other] = [(); 2].map(|()| Scene::new(2, 3, different_things()));
    other.subject = Digest([8; 32]);
    let mut transcript = Transcript::new("ostrakon/v1/stats/places");
    transcript.field(&scene.scope().digest().0);
    for (part, elsewhere) in shown(&scene).iter().zip(shown(&other)) {
        let point = data_encoding::HEXLOWER.decode(&part.as_bytes()[..64]).unwrap();
        transcript.field(&point);
        assert_ne!(part[..64], elsewhere[..64], "a point for each question");
    }
    assert_eq!(scene.places(), Places::new(transcript.finish()));
    let level = |words: [u64; 4]| words[1].trailing_zeros();
    let mut falls = Vec::new();
    for words in 0..200 {
        let mut scene = Scene::new(2, 2, different_things());
        scene.subject = Digest([words; 32]);
        // What the words alone decide, in the way in which the members' parts do.
        let mut transcript = Transcript::new("ostrakon/v1/stats/thing");
        let hash = transcript.field(&scene.scope().digest().0).field(b"thing").finish().0;
        let guessed = std::array::from_fn(|i| u64::from_le_bytes(hash.as_chunks().0[i]));
        falls.push((level(guessed), level(scene.places().words(b"thing"))));
    }
    let (guessed, falls_on) = falls.iter().max().unwrap();
    assert!(*guessed >= 5, "{guessed}: by its words one of 200 questions suits");
    assert!(falls_on < guessed, "{falls_on}: and it does not");
    let first = falls.iter().filter(|(_, level)| *level == 0).count();
    assert!((70..=130).contains(&first), "{first} of 200 on the first level");
}
