//! What the node does with any job's state.

use ostrakon_crypto::Digest;
use ostrakon_party::SessionId;
use ostrakon_protocol::ServiceError;

use super::*;

const P0: PartyId = PartyId(0);
const P1: PartyId = PartyId(1);
const SUBJECT: Subject = [7; 16];

/// Counts words of one byte; only the first server says odd ones.
pub struct Counting;

/// A job that does nothing, of any number and name.
struct Called(u8, &'static str);

impl Job for Called {
    fn number(&self) -> u8 {
        self.0
    }

    fn name(&self) -> &'static str {
        self.1
    }

    fn empty(&self, _: &Servers, _: BTreeSet<Subject>) -> Box<dyn State> {
        Box::new(Count::default())
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Count(BTreeMap<Subject, u64>);

impl Job for Counting {
    fn number(&self) -> u8 {
        3
    }

    fn name(&self) -> &'static str {
        "counting"
    }

    fn empty(&self, _: &Servers, _: BTreeSet<Subject>) -> Box<dyn State> {
        Box::new(Count::default())
    }

    fn is_never_valid(&self, author: PartyId, _: &Subject, word: &[u8]) -> bool {
        word.len() != 1 || (author != P0 && word[0] % 2 == 1)
    }
}

impl State for Count {
    fn judge(&self, said: &Said<'_>, subject: &Subject, word: &[u8]) -> Result<bool, Invalid> {
        let wrong = Counting.is_never_valid(said.author, subject, word);
        if wrong { Err(Invalid("a word is one byte")) } else { Ok(word[0] > 0) }
    }

    fn apply(&mut self, _: (PartyId, u64), subject: &Subject, word: &[u8]) -> Vec<Deed> {
        *self.0.entry(*subject).or_default() += u64::from(word[0]);
        vec![Deed { subject: *subject, what: word.to_vec() }]
    }

    fn due(&self, _: PartyId, now: u64) -> Option<(Subject, Vec<u8>)> {
        (now > 9).then(|| (SUBJECT, vec![2]))
    }

    fn request(&self, _: &Subject, body: &[u8]) -> Result<Vec<u8>, ServiceError> {
        Ok(body.to_vec())
    }

    fn view(&self, subject: &Subject) -> Option<serde_json::Value> {
        self.0.get(subject).map(|count| (*count).into())
    }
}

fn jobs() -> Jobs {
    let servers = Servers { session: SessionId(Digest([9; 32])), keys: Vec::new() };
    Jobs::new(vec![(Arc::new(Counting), BTreeSet::new())], &servers)
}

#[test]
fn two_jobs_of_one_number_or_name_are_refused() {
    let with = |other| distinct(&[Arc::new(Counting), Arc::new(other)]);
    assert_eq!(with(Called(4, "cunning")), Ok(()));
    let number = with(Called(3, "cunning")).unwrap_err();
    assert!(number.starts_with("the jobs counting and cunning have one number, 3"), "{number}");
    let name = with(Called(4, "counting")).unwrap_err();
    assert!(name.starts_with("the jobs 3 and 4 have one name, counting"), "{name}");
}

#[test]
fn words_are_judged_by_their_job_and_only_if_there_is_one() {
    let jobs = jobs();
    let judge = |author, job, word: &[u8]| {
        jobs.judge(&Said { author, number: 0, after: &[0, 0] }, job, &SUBJECT, word).ok()
    };
    assert_eq!((jobs.number("counting"), jobs.number("cunning")), (Some(3), None));
    assert_eq!(judge(P0, 3, &[1]), Some(Some(true)));
    assert_eq!(judge(P1, 3, &[1]), None, "the job forbids it");
    assert_eq!(judge(P1, 3, &[0]), Some(Some(false)), "it changes nothing");
    assert_eq!(judge(P0, 4, &[1]), Some(None), "it is not known what that job forbids");
    for job in [3, 4] {
        assert_eq!(judge(P0, job, &vec![1; LONGEST_WORD + 1]), None);
    }
}

#[test]
fn a_copy_is_a_state_of_its_own_and_versions_are_not_part_of_it() {
    let mut one = jobs();
    let say =
        |jobs: &mut Jobs, word: u8, version| jobs.apply(3, (P0, 0), (&SUBJECT, &[word]), version);
    assert_eq!((one.view(3, &SUBJECT), one.version(3, &SUBJECT)), (None, 0));
    assert_eq!(say(&mut one, 5, 8), [Deed { subject: SUBJECT, what: vec![5] }]);
    let mut other = one.clone();
    assert_eq!(other, one);
    say(&mut other, 4, 9);
    assert_ne!(other, one);
    assert_eq!(one.view(3, &SUBJECT), Some((8, 5.into())));
    assert_eq!(other.view(3, &SUBJECT), Some((9, 9.into())));
    say(&mut one, 4, 20);
    assert_eq!(other, one);
    assert_eq!(one.view(3, &[0; 16]), None);
    assert_eq!((one.due(P1, 9), one.due(P1, 10)), (None, Some((3, SUBJECT, vec![2]))));
}

#[test]
fn what_is_kept_of_jobs_that_are_not_known_is_bounded_by_author() {
    let mut jobs = jobs();
    let word = vec![1; LONGEST_WORD];
    let mut kept = 0;
    while jobs.has_room(P0, 4) {
        assert_eq!(jobs.apply(4, (P0, kept), (&SUBJECT, &word), kept), []);
        kept += 1;
        assert!(kept as usize * LONGEST_WORD <= MOST_UNJUDGED);
    }
    assert!((kept as usize + 1) * LONGEST_WORD > MOST_UNJUDGED);
    assert!(jobs.has_room(P1, 4) && jobs.has_room(P0, 3));
}

#[test]
fn who_asks_a_job_something_keeps_nobody_from_changing_it() {
    let mut jobs = jobs();
    jobs.apply(3, (P0, 0), (&SUBJECT, &[5]), 1);
    let asked = jobs.state(3).expect("there is such a job");
    jobs.apply(3, (P0, 1), (&SUBJECT, &[4]), 2);
    assert_eq!(
        (asked.view(&SUBJECT), jobs.view(3, &SUBJECT)),
        (Some(5.into()), Some((2, 9.into())))
    );
    assert!(jobs.state(4).is_none());
}
