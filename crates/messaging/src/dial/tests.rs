use ostrakon_crypto::Stream;

use super::*;

const ROOM: RoomId = RoomId([9; 16]);

fn place(round: u64) -> Place<'static> {
    Place { room: &ROOM, round, width: 254 }
}

fn rng() -> Stream {
    Stream::of(Secret::new([1; 32]), "test")
}

fn link(seed: u8) -> (Hidden<32>, Callee) {
    let own = Hidden([seed; 32]);
    let callee = Callee { key: own.exchange().public(), secret: Hidden([seed; LINK_SECRET]) };
    (own, callee)
}

fn a_call(from: Option<&Callee>) -> Call {
    let from = from.cloned();
    Call { once: Hidden([5; 32]).exchange().public(), channels: 0b1010, name: "Änn".into(), from }
}

#[test]
fn a_call_is_read_by_its_callee_in_its_round_only() {
    let ((own, to), (_, stranger)) = (link(1), link(2));
    let row = call(place(4), &to, &a_call(None), None, &mut rng()).unwrap();
    assert_eq!(row.len(), 254);
    let read = |place, own: &Hidden<32>, to: &Callee, row: &[u8]| {
        read_call(place, &own.exchange(), &to.secret, row)
    };
    let said = read(place(4), &own, &to, &row).unwrap();
    assert_eq!((said.channels, &*said.name, said.from.is_none()), (0b1010, "Änn", true));
    assert!(read(place(9), &own, &to, &row).is_none(), "another round");
    let elsewhere = Place { room: &RoomId([8; 16]), ..place(4) };
    assert!(read(elsewhere, &own, &to, &row).is_none(), "another room");
    assert!(read(place(4), &own, &stranger, &row).is_none(), "another secret");
    assert!(read(place(4), &Hidden([2; 32]), &to, &row).is_none(), "another key");
    for at in 1..row.len() {
        let mut changed = row.clone();
        changed[at] ^= 1;
        assert!(read(place(4), &own, &to, &changed).is_none(), "byte {at}");
    }
    assert!(read(place(4), &own, &to, &row[1..]).is_none());
}

#[test]
fn a_caller_proves_its_link_and_no_other() {
    let ((own, to), (mine, my_link), (_, another)) = (link(1), link(2), link(3));
    let read = |row: &[u8]| read_call(place(4), &own.exchange(), &to.secret, row);
    let said = a_call(Some(&my_link));
    let row = call(place(4), &to, &said, Some(&mine), &mut rng()).unwrap();
    assert_eq!(read(&row).unwrap().from, Some(my_link));
    let said = a_call(Some(&another));
    let row = call(place(4), &to, &said, Some(&mine), &mut rng()).unwrap();
    assert!(read(&row).is_none(), "the key of another's link is not at hand");
}

#[test]
fn a_call_to_no_key_is_not_made() {
    let callee = Callee { key: [0; 32], secret: Hidden([1; LINK_SECRET]) };
    assert!(call(place(4), &callee, &a_call(None), None, &mut rng()).is_none());
}

#[test]
fn an_answer_is_read_by_who_called() {
    let said = Answer { once: [7; 32], channel: 3, start: 12 };
    let (once, secret) = (Hidden([5; 32]), Hidden([6; LINK_SECRET]));
    let row = answer(place(4), &once.exchange().public(), &secret, &said, &mut rng()).unwrap();
    assert_eq!(read_answer(place(4), &once.exchange(), &secret, &row), Some(said));
    assert_eq!(read_answer(place(9), &once.exchange(), &secret, &row), None);
    assert!(read_call(place(4), &once.exchange(), &secret, &row).is_none(), "an answer, no call");
}

#[test]
fn both_sides_have_one_root_and_everything_is_part_of_it() {
    let ((own, to), (mine, my_link)) = (link(1), link(2));
    let (called, answered) = (Hidden([5; 32]), Hidden([6; 32]));
    let answer = Answer { once: answered.exchange().public(), channel: 3, start: 12 };
    let call = called.exchange().public();
    let meeting = |from, answer| Meeting {
        room: &ROOM,
        link: &to.key,
        secret: &to.secret,
        call: &call,
        from,
        answer,
    };
    let known = meeting(Some(&my_link.key), &answer);
    let root = known.root_of_caller(&called, Some(&mine)).unwrap();
    assert_eq!(root.expose(), known.root_of_callee(&own, &answered).unwrap().expose());
    let unknown = meeting(None, &answer);
    let other = unknown.root_of_caller(&called, None).unwrap();
    assert_eq!(other.expose(), unknown.root_of_callee(&own, &answered).unwrap().expose());
    assert_ne!(other.expose(), root.expose());
    let later = Answer { start: 13, ..answer };
    let other = meeting(None, &later).root_of_caller(&called, None).unwrap();
    assert_ne!(other.expose(), unknown.root_of_callee(&own, &answered).unwrap().expose());
    let of_nobody = meeting(Some(&[0; 32]), &later);
    assert!(of_nobody.root_of_callee(&own, &answered).is_none(), "of small order");
    let nobody = Answer { once: [0; 32], ..later };
    assert!(meeting(None, &nobody).root_of_caller(&called, None).is_none(), "of small order");
}

/// `public_link_watcher`: with the same half of the exchange, another callee has another mark, and
/// another secret of the link has the same one. So who knows links alone knows no marks.
#[test]
fn a_mark_is_of_the_exchange_and_not_of_the_link_s_secret() {
    let ((_, to), (_, another)) = (link(1), link(2));
    let mark_of = |to: &Callee| {
        let row = call(place(4), to, &a_call(None), None, &mut rng()).unwrap();
        (row[EXCHANGE].to_vec(), row[MARKED].to_vec(), row[HEAD..].to_vec())
    };
    let other_key = Callee { key: another.key, secret: to.secret.clone() };
    let other_secret = Callee { key: to.key, secret: another.secret.clone() };
    let [mark, of_other_key, of_other_secret] =
        [to, other_key, other_secret].map(|to| mark_of(&to));
    assert!(mark.0 == of_other_key.0 && mark.0 == of_other_secret.0, "the same half");
    assert_ne!(mark.1, of_other_key.1);
    assert_eq!(mark.1, of_other_secret.1);
    assert_ne!(mark.2, of_other_secret.2, "only who has the secret can make a call");
}
