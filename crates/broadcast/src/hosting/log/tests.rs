use super::*;
use ostrakon_party::SessionId;

struct Scene {
    servers: Servers,
    room: RoomDescriptor,
    host: SigningKey,
    log: HostLog,
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32])
}

fn scene(admission: Admission) -> Scene {
    let servers =
        Servers { session: SessionId(Digest([9; 32])), keys: vec![key(1).verifying_key()] };
    let host = key(7);
    let room =
        RoomDescriptor { host: Some(host.verifying_key()), admission, ..RoomDescriptor::new("r") };
    let log = HostLog::new(&servers, &room);
    Scene { servers, room, host, log }
}

fn poll(epoch: u64) -> Deed {
    let form = super::super::PollForm::Text;
    Deed::Poll { poll: Poll { question: "What?".into(), form, epoch } }
}

const TARGET: MessageId = MessageId { epoch: 3, index: 0 };

#[test]
fn actions_amount_to_what_was_done_last() {
    let Scene { host, mut log, .. } = scene(Admission::Open);
    let deeds = [
        Deed::Hide { target: TARGET, hidden: true },
        Deed::Hide { target: TARGET, hidden: false },
        Deed::Pin { target: TARGET, pinned: true },
        Deed::Group { target: TARGET, group: Some("food".into()) },
        poll(8),
        Deed::Withdraw { poll: 4 },
        Deed::Moderate { on: true },
        Deed::Erase { target: TARGET },
    ];
    for deed in deeds {
        log.apply(&log.act(&host, 5, deed)).unwrap();
    }
    let marks =
        Marks { pinned: true, erased: true, group: Some("food".into()), ..Marks::default() };
    assert_eq!(log.marks()[&TARGET], marks);
    assert!(log.polls()[&4].withdrawn && log.moderated() && log.is_erased(&TARGET));
    assert!(!log.is_erased(&MessageId { epoch: 3, index: 1 }));
    log.apply(&log.act(&host, 6, Deed::EraseAll)).unwrap();
    assert!(log.closed() && log.is_erased(&MessageId { epoch: 9, index: 1 }));
}

#[test]
fn right_answers_are_said_of_choices_and_the_last_time_counts() {
    let Scene { host, mut log, .. } = scene(Admission::Open);
    let options = ["a", "b", "c"].map(String::from).to_vec();
    let form = super::super::PollForm::Choice { options, several: true };
    let asked = Deed::Poll { poll: Poll { question: "Which?".into(), form, epoch: 8 } };
    let reveal = |poll, right: &[u8]| Deed::Reveal { poll, right: right.iter().copied().collect() };
    for deed in [asked, poll(9), reveal(0, &[1]), reveal(0, &[0, 2])] {
        log.apply(&log.act(&host, 5, deed)).unwrap();
    }
    assert_eq!(log.polls()[&0].right, Some([0, 2].into()));
    for deed in [reveal(0, &[]), reveal(0, &[1, 3]), reveal(1, &[0]), reveal(7, &[0])] {
        assert!(matches!(log.apply(&log.act(&host, 5, deed)), Err(Refused::Deed(_))));
    }
    assert_eq!(log.polls()[&0].right, Some([0, 2].into()));
}

#[test]
fn the_minimum_is_lowered_and_never_raised_or_given_up() {
    let Scene { host, mut log, .. } = scene(Admission::Open);
    assert_eq!(log.minimum(), 3);
    let to = |minimum| Deed::Minimum { minimum };
    for wrong in [0, 3, 4] {
        assert!(matches!(log.apply(&log.act(&host, 5, to(wrong))), Err(Refused::Deed(_))));
    }
    log.apply(&log.act(&host, 5, to(2))).unwrap();
    assert_eq!(log.minimum(), 2);
    assert!(matches!(log.apply(&log.act(&host, 5, to(2))), Err(Refused::Deed(_))));
    log.apply(&log.act(&host, 5, Deed::Close)).unwrap();
    assert_eq!(log.apply(&log.act(&host, 5, to(1))), Err(Refused::Closed));
}

#[test]
fn a_spotlight_is_on_one_message_and_goes_out() {
    let Scene { host, mut log, .. } = scene(Admission::Open);
    let mut on = |target| {
        log.apply(&log.act(&host, 5, Deed::Spotlight { target })).unwrap();
        log.spotlight()
    };
    let other = MessageId { epoch: 4, index: 7 };
    assert_eq!([on(Some(TARGET)), on(Some(other)), on(None)], [Some(TARGET), Some(other), None]);
    // A closed room is still shown.
    for deed in [Deed::Close, Deed::Spotlight { target: Some(TARGET) }] {
        log.apply(&log.act(&host, 5, deed)).unwrap();
    }
    assert!(log.marks().is_empty(), "what is shown alone is not marked");
}

#[test]
fn only_hosts_act_and_only_the_first_names_others() {
    let Scene { host, mut log, .. } = scene(Admission::Open);
    let co_host = |active| Deed::Host { key: key(8).verifying_key(), name: "Kleon".into(), active };
    let pin = || Deed::Pin { target: TARGET, pinned: true };
    assert_eq!(log.apply(&log.act(&key(8), 5, pin())), Err(Refused::NotHost));
    log.apply(&log.act(&host, 5, co_host(true))).unwrap();
    log.apply(&log.act(&key(8), 5, pin())).unwrap();
    let another = Deed::Host { key: key(9).verifying_key(), name: "Nikias".into(), active: true };
    assert_eq!(log.apply(&log.act(&key(8), 5, another)), Err(Refused::NotFirstHost));
    log.apply(&log.act(&host, 5, co_host(false))).unwrap();
    assert_eq!(log.apply(&log.act(&key(8), 5, pin())), Err(Refused::NotHost));
    let own = Deed::Host { key: host.verifying_key(), name: "me".into(), active: false };
    assert!(matches!(log.apply(&log.act(&host, 5, own)), Err(Refused::Deed(_))));
}

#[test]
fn no_action_is_invented_changed_reordered_or_moved_to_another_room() {
    let Scene { servers, room, host, mut log } = scene(Admission::Open);
    let first = log.act(&host, 5, Deed::Pin { target: TARGET, pinned: true });
    let mut changed = first.clone();
    changed.action.deed = Deed::Pin { target: TARGET, pinned: false };
    assert_eq!(log.apply(&changed), Err(Refused::Signature));
    let mut forged = first.clone();
    forged.signature = key(8).sign(&first.action.digest(&servers.digest(), &room.id()));
    assert_eq!(log.apply(&forged), Err(Refused::Signature));
    let mut elsewhere = HostLog::new(&servers, &RoomDescriptor { nonce: [1; 16], ..room.clone() });
    assert_eq!(elsewhere.apply(&first), Err(Refused::Signature));
    let other = Servers { session: SessionId(Digest([8; 32])), ..servers };
    assert_eq!(HostLog::new(&other, &room).apply(&first), Err(Refused::Signature));
    log.apply(&first).unwrap();
    assert_eq!(log.apply(&first), Err(Refused::NotNext { next: 1 }), "a replay");
    let second = log.act(&host, 5, Deed::Moderate { on: true });
    let mut fork = HostLog::new(&log_servers(), &room);
    fork.apply(&fork.act(&host, 6, Deed::Pin { target: TARGET, pinned: true })).unwrap();
    assert_eq!(
        fork.apply(&second),
        Err(Refused::NotNext { next: 1 }),
        "it continues another history"
    );
}

fn log_servers() -> Servers {
    scene(Admission::Open).servers
}

#[test]
fn members_are_those_that_were_admitted_and_not_dismissed() {
    let Scene { host, mut log, .. } = scene(Admission::Members);
    let keys = |seeds: &[u8]| seeds.iter().map(|seed| key(*seed).verifying_key()).collect();
    assert!(!log.admits(&key(1).verifying_key()));
    log.apply(&log.act(&host, 5, Deed::Admit { keys: keys(&[1, 2]) })).unwrap();
    log.apply(&log.act(&host, 5, Deed::Dismiss { keys: keys(&[2]) })).unwrap();
    assert!(log.admits(&key(1).verifying_key()) && !log.admits(&key(2).verifying_key()));
    assert!(scene(Admission::Open).log.admits(&key(2).verifying_key()));
    let many = Deed::Admit { keys: vec![key(1).verifying_key(); 257] };
    assert!(matches!(log.apply(&log.act(&host, 5, many)), Err(Refused::Deed(_))));
}

/// An invited member's scene: the invitation is key 1's.
fn invited() -> Scene {
    let mut scene = scene(Admission::Members);
    let deed = Deed::Invite { keys: vec![key(1).verifying_key()] };
    scene.log.apply(&scene.log.act(&scene.host, 5, deed)).unwrap();
    scene
}

fn claim(scene: &Scene, invitation: u8, taker: u8) -> Claim {
    Claim::sign(&scene.servers.digest(), &scene.room.id(), &key(invitation), &key(taker))
}

/// Otherwise whoever names keys would be told what they are in the room.
#[test]
fn what_a_key_did_not_sign_is_refused_alike_whatever_the_key_is() {
    let mut scene = invited();
    scene.log.apply(&scene.log.place(&claim(&scene, 1, 2))).unwrap();
    let admit = Deed::Admit { keys: vec![key(5).verifying_key()] };
    scene.log.apply(&scene.log.act(&scene.host, 5, admit)).unwrap();
    let signature = key(99).sign(&Digest([0; 32]));
    // An invitation that was claimed, one that was not made; a key that claimed, one that was
    // admitted, and a stranger's.
    for invitation in [1, 7] {
        for taker in [2, 5, 9] {
            let forged = Claim {
                invitation_signature: signature,
                key_signature: signature,
                ..claim(&scene, invitation, taker)
            };
            let of = format!("{taker} for {invitation}");
            assert_eq!(scene.log.check_claim(&forged), Err(Refused::Signature), "{of}");
            assert_eq!(scene.log.check(&scene.log.place(&forged)), Err(Refused::Signature), "{of}");
        }
    }
    let pin = Deed::Pin { target: TARGET, pinned: true };
    for author in [scene.host, key(8)] {
        let forged = SignedAction { signature, ..scene.log.act(&author, 5, pin.clone()) };
        assert_eq!(scene.log.check(&forged), Err(Refused::Signature));
    }
}

#[test]
fn an_invitation_is_claimed_once_and_takes_no_part_itself() {
    let mut scene = invited();
    let [link, device, thief] = [1, 2, 3].map(|seed| key(seed).verifying_key());
    assert!(!scene.log.admits(&link), "whoever made the link knows its key");
    let first = claim(&scene, 1, 2);
    scene.log.apply(&scene.log.place(&first)).unwrap();
    assert!(scene.log.admits(&device) && !scene.log.admits(&link));
    assert_eq!(scene.log.check_claim(&claim(&scene, 1, 3)), Err(Refused::Claimed));
    assert_eq!(scene.log.check_claim(&first), Err(Refused::Claimed), "it is in the log already");
    assert!(!scene.log.admits(&thief));
    let known = Invitation { number: 1, claimed: Some(device), active: true };
    assert_eq!(scene.log.invitations()[&link], known);
    let plain = |keys| Deed::Admit { keys };
    for keys in [vec![link], vec![device]] {
        let action = scene.log.act(&scene.host, 5, plain(keys));
        assert!(matches!(scene.log.apply(&action), Err(Refused::Deed(_))), "a key is one thing");
    }
}

#[test]
fn a_claim_is_of_an_invitation_that_stands_and_signed_by_both_keys_for_this_room() {
    let scene = invited();
    let right = claim(&scene, 1, 2);
    assert_eq!(scene.log.check_claim(&claim(&scene, 4, 2)), Err(Refused::NotInvited));
    assert_eq!(
        scene.log.check_claim(&claim(&scene, 7, 2)),
        Err(Refused::NotInvited),
        "nor is a host's key"
    );
    assert_eq!(scene.log.check_claim(&claim(&scene, 1, 1)), Err(Refused::KeyInUse));
    let elsewhere = RoomDescriptor { nonce: [1; 16], ..scene.room.clone() }.id();
    let moved = Claim::sign(&scene.servers.digest(), &elsewhere, &key(1), &key(2));
    assert_eq!(scene.log.check_claim(&moved), Err(Refused::Signature));
    let other = claim(&scene, 4, 3);
    for forged in [
        Claim { key: key(3).verifying_key(), ..right.clone() },
        Claim { key_signature: other.key_signature, ..right.clone() },
        Claim { invitation_signature: other.invitation_signature, ..right.clone() },
    ] {
        assert_eq!(scene.log.check_claim(&forged), Err(Refused::Signature));
    }
    let mut timed = scene.log.place(&right);
    timed.action.time = 1;
    assert!(
        matches!(scene.log.check(&timed), Err(Refused::Deed(_))),
        "no two entries for one claim"
    );
    assert_eq!(scene.log.check_claim(&right), Ok(()));
}

#[test]
fn a_key_claims_one_invitation_and_no_member_s_key_is_taken() {
    let mut scene = invited();
    let keys = vec![key(4).verifying_key()];
    scene.log.apply(&scene.log.act(&scene.host, 5, Deed::Admit { keys: keys.clone() })).unwrap();
    assert_eq!(scene.log.check_claim(&claim(&scene, 1, 4)), Err(Refused::KeyInUse));
    let again = scene.log.act(&scene.host, 5, Deed::Invite { keys });
    assert!(
        matches!(scene.log.apply(&again), Err(Refused::Deed(_))),
        "a member's key is no invitation"
    );
    scene.log.apply(&scene.log.place(&claim(&scene, 1, 2))).unwrap();
    let second = Deed::Invite { keys: vec![key(5).verifying_key()] };
    scene.log.apply(&scene.log.act(&scene.host, 5, second)).unwrap();
    assert_eq!(scene.log.invitations()[&key(5).verifying_key()].number, 2);
    assert_eq!(scene.log.check_claim(&claim(&scene, 5, 2)), Err(Refused::KeyInUse));
}

#[test]
fn dismissing_an_invitation_takes_the_claimed_key_along() {
    let [link, device] = [1, 2].map(|seed| key(seed).verifying_key());
    for dismissed in [link, device] {
        let mut scene = invited();
        scene.log.apply(&scene.log.place(&claim(&scene, 1, 2))).unwrap();
        let deed =
            |deed: fn(Vec<VerifyingKey>) -> Deed, keys| scene.log.act(&scene.host, 5, deed(keys));
        let dismissal = deed(|keys| Deed::Dismiss { keys }, vec![dismissed]);
        scene.log.apply(&dismissal).unwrap();
        assert!(!scene.log.admits(&device) && !scene.log.admits(&link));
        assert_eq!(scene.log.check_claim(&claim(&scene, 1, 3)), Err(Refused::NotInvited));
        let again = Deed::Invite { keys: vec![link] };
        scene.log.apply(&scene.log.act(&scene.host, 5, again.clone())).unwrap();
        assert!(scene.log.admits(&device), "a claim stands for good");
        assert_eq!(scene.log.admitted_by(&scene.host.verifying_key(), &again), [device]);
    }
    let mut scene = invited();
    scene.log.apply(&scene.log.act(&scene.host, 5, Deed::Dismiss { keys: vec![link] })).unwrap();
    assert_eq!(scene.log.check_claim(&claim(&scene, 1, 2)), Err(Refused::NotInvited));
    assert!(scene.log.invitations().is_empty());
}

#[test]
fn claims_are_chained_and_end_with_the_room() {
    let mut scene = invited();
    let act = scene.log.act(&scene.host, 5, Deed::Moderate { on: true });
    let claimed = claim(&scene, 1, 2);
    let placed = scene.log.place(&claimed);
    scene.log.apply(&placed).unwrap();
    assert_eq!(
        scene.log.apply(&act),
        Err(Refused::NotNext { next: 2 }),
        "the host has not seen the claim"
    );
    assert_eq!(Claim::of(&placed), Some(claimed));
    let second = Deed::Invite { keys: vec![key(5).verifying_key()] };
    scene.log.apply(&scene.log.act(&scene.host, 5, second)).unwrap();
    scene.log.apply(&scene.log.act(&scene.host, 5, Deed::Close)).unwrap();
    assert_eq!(scene.log.check_claim(&claim(&scene, 5, 6)), Err(Refused::Closed));
}

#[test]
fn an_epoch_answers_one_poll_and_a_closed_room_takes_marks_only() {
    let Scene { host, mut log, .. } = scene(Admission::Open);
    log.apply(&log.act(&host, 5, poll(8))).unwrap();
    assert!(matches!(log.apply(&log.act(&host, 5, poll(8))), Err(Refused::Deed(_))));
    log.apply(&log.act(&host, 5, Deed::Withdraw { poll: 0 })).unwrap();
    log.apply(&log.act(&host, 5, poll(8))).unwrap();
    assert!(matches!(
        log.apply(&log.act(&host, 5, Deed::Withdraw { poll: 7 })),
        Err(Refused::Deed(_))
    ));
    log.apply(&log.act(&host, 5, Deed::Close)).unwrap();
    assert_eq!(log.apply(&log.act(&host, 5, poll(9))), Err(Refused::Closed));
    log.apply(&log.act(&host, 5, Deed::Hide { target: TARGET, hidden: true })).unwrap();
}

#[test]
fn a_room_without_a_host_takes_no_actions() {
    let Scene { servers, room, host, .. } = scene(Admission::Open);
    let mut log = HostLog::new(&servers, &RoomDescriptor { host: None, ..room });
    assert_eq!(log.apply(&log.act(&host, 5, Deed::Close)), Err(Refused::NotHost));
}
