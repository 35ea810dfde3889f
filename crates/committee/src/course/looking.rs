//! Asking the other members, so that none of them holds up what another one says.
//!
//! Each request is a task of its own, one to a member at a time. A look waits for a member that is
//! slow only for a short while, and once; what it answers later is taken in when it comes.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, pending};
use std::sync::Mutex;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use ostrakon_computation::Statement;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout, timeout_at};

use crate::peers::Unreached;

/// How long anybody waits for who is slow, where what the others say can be gone on with.
const LATE: Duration = Duration::from_millis(1_500);

/// What a member shows of its statements.
type Answer = Result<Vec<Statement>, Unreached>;

/// What of one computation is asked of the other members. What is under way ends when this is
/// dropped.
#[derive(Default)]
pub(super) struct Looking {
    asking: JoinSet<(usize, Answer)>,
    asked: BTreeMap<usize, AbortHandle>,
    /// Answers that came between two looks and have news.
    late: Vec<(usize, Answer)>,
    passing: JoinSet<()>,
    passed: BTreeMap<usize, AbortHandle>,
    fetching: JoinSet<()>,
}

fn under_way(tasks: &BTreeMap<usize, AbortHandle>, member: usize) -> bool {
    tasks.get(&member).is_some_and(|task| !task.is_finished())
}

impl Looking {
    /// Asks those members of whom no answer is awaited. Returns the answers that have come, when
    /// these have answered or the time for it has passed.
    pub async fn look<F>(
        &mut self,
        members: impl Iterator<Item = usize>,
        ask: impl Fn(usize) -> F,
    ) -> Vec<(usize, Answer)>
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let mut come = std::mem::take(&mut self.late);
        while let Some(answered) = self.asking.try_join_next() {
            come.extend(answered);
        }
        let mut awaited = BTreeSet::new();
        for member in members {
            if !under_way(&self.asked, member) {
                let asking = ask(member);
                let task = self.asking.spawn(async move { (member, asking.await) });
                self.asked.insert(member, task);
                awaited.insert(member);
            }
        }
        let until = Instant::now() + LATE;
        while !awaited.is_empty() {
            match timeout_at(until, self.asking.join_next()).await {
                Ok(Some(Ok((member, answer)))) => {
                    awaited.remove(&member);
                    come.push((member, answer));
                }
                // A task has panicked: its member is asked again at the next look.
                Ok(Some(Err(_))) => awaited.retain(|member| under_way(&self.asked, *member)),
                Ok(None) | Err(_) => break,
            }
        }
        come
    }

    /// Waits for an answer that comes late and is found to have news; the next look hands it over.
    pub async fn late_news(&mut self, has_news: impl Fn(usize, &[Statement]) -> bool) {
        loop {
            match self.asking.join_next().await {
                None => pending().await,
                Some(Ok((member, Ok(statements)))) if has_news(member, &statements) => {
                    self.late.push((member, Ok(statements)));
                    return;
                }
                Some(_) => {}
            }
        }
    }

    /// Passes something on to a member, unless that is under way.
    pub fn pass(&mut self, member: usize, passing: impl Future<Output = ()> + Send + 'static) {
        while self.passing.try_join_next().is_some() {}
        if !under_way(&self.passed, member) {
            self.passed.insert(member, self.passing.spawn(passing));
        }
    }

    /// Gives up what is being passed on, in whose place something else is to be.
    pub fn pass_no_more(&mut self) {
        self.passing.abort_all();
        self.passed.clear();
    }

    /// Waits until all that is being passed on has arrived, or failed.
    pub async fn passed_on(&mut self) {
        while self.passing.join_next().await.is_some() {}
    }

    /// Fetches something, unless a fetch is under way.
    pub fn fetch(&mut self, fetching: impl Future<Output = ()> + Send + 'static) {
        while self.fetching.try_join_next().is_some() {}
        if self.fetching.is_empty() {
            self.fetching.spawn(fetching);
        }
    }
}

/// What the first of some members shows, asked one after the other: the next one as soon as one
/// shows nothing, or is late. `slow` is who was found to be either, and is asked last.
pub(super) async fn first_shown<T, F: Future<Output = Option<T>>>(
    members: impl Iterator<Item = usize>,
    slow: &Mutex<BTreeSet<usize>>,
    ask: impl Fn(usize) -> F,
) -> Option<T> {
    let slow = || slow.lock().expect("no panic while held");
    let mut members: Vec<usize> = members.collect();
    members.sort_by_key(|member| slow().contains(member));
    let mut asked = FuturesUnordered::new();
    for (place, member) in members.iter().copied().enumerate() {
        let asking = ask(member);
        asked.push(async move { (member, asking.await) });
        let last = place + 1 == members.len();
        loop {
            let answer = match last {
                true => Ok(asked.next().await),
                false => timeout(LATE, asked.next()).await,
            };
            match answer {
                Ok(Some((_, Some(shown)))) => return Some(shown),
                Ok(Some((of, None))) => {
                    slow().insert(of);
                }
                Ok(None) => break,
                Err(_) => {
                    slow().insert(member);
                }
            }
            if !last {
                break;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use ostrakon_computation::{ComputationId, Said};
    use ostrakon_crypto::{Digest, SigningKey};
    use tokio::time::sleep;

    use super::*;

    const MS: Duration = Duration::from_millis(1);
    /// In which a member that trickles its answers has given one.
    const TRICKLE: Duration = Duration::from_secs(20);

    fn says(member: usize) -> Answer {
        let key = SigningKey::from_seed(&[u8::try_from(member).unwrap(); 32]);
        let id = ComputationId(Digest([7; 32]));
        Ok(vec![Statement::sign(id, Said::stopped("it is over"), &key)])
    }

    /// Answers as fast as each member does.
    fn as_fast(
        times: [Duration; 4],
    ) -> impl Fn(usize) -> futures::future::BoxFuture<'static, Answer> {
        move |member| sleep(times[member]).map(move |()| says(member)).boxed()
    }

    fn heard(come: &[(usize, Answer)]) -> Vec<usize> {
        come.iter().map(|(member, _)| *member).collect()
    }

    /// Attack: two of five members trickle what they say, so that the others do not hear each
    /// other.
    #[tokio::test(start_paused = true)]
    async fn members_that_are_slow_delay_the_news_of_others_once_and_for_a_moment() {
        let mut looking = Looking::default();
        let ask = as_fast([5 * MS, TRICKLE, 10 * MS, 2 * TRICKLE]);
        let begun = Instant::now();
        assert_eq!(heard(&looking.look(0..4, &ask).await), [0, 2]);
        assert_eq!(begun.elapsed(), LATE);
        for _ in 0..10 {
            let begun = Instant::now();
            assert_eq!(heard(&looking.look(0..4, &ask).await), [0, 2]);
            assert!(begun.elapsed() <= 20 * MS, "who was waited for before is not waited for");
        }
        // What it says in the end is heard at once, and no more is asked of it until then.
        looking.late_news(|member, _| member == 1).await;
        assert!(begun.elapsed() <= TRICKLE + 20 * MS, "{:?}", begun.elapsed());
        assert_eq!(heard(&looking.look([0, 2].into_iter(), &ask).await), [1, 0, 2]);
        let asked = looking.asking.len();
        assert_eq!(asked, 1, "the fourth is still to answer");
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_between_two_looks_wakes_for_news_only_and_nothing_of_it_is_lost() {
        let mut looking = Looking::default();
        let ask = as_fast([2 * LATE, 3 * LATE, MS, MS]);
        assert_eq!(heard(&looking.look(0..2, &ask).await), [0; 0]);
        let none = timeout(10 * LATE, looking.late_news(|_, _| false)).await;
        assert!(none.is_err(), "nothing of it was new");
        assert_eq!(heard(&looking.look(0..2, &ask).await), [0; 0], "both are asked again");
        sleep(3 * LATE).await;
        assert_eq!(heard(&looking.look(2..3, &ask).await), [0, 1, 2]);
        // Nothing is under way: nothing comes, and nobody waits in vain for it to be nothing.
        assert!(timeout(10 * LATE, looking.late_news(|_, _| true)).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_member_is_told_one_thing_at_a_time_and_a_fetch_is_made_once() {
        let (mut looking, begun) = (Looking::default(), Instant::now());
        for _ in 0..3 {
            looking.pass(1, sleep(TRICKLE));
            looking.pass(2, async {});
            looking.fetch(sleep(TRICKLE));
            sleep(MS).await;
        }
        assert!(begun.elapsed() < LATE, "nobody waits for it");
        assert_eq!((looking.passing.len(), looking.fetching.len()), (2, 1));
        looking.pass_no_more();
        looking.pass(1, sleep(LATE));
        looking.passed_on().await;
        assert_eq!(begun.elapsed(), LATE + 3 * MS, "in its place");
    }

    /// Attack: a member lists what others hold, and trickles it to whoever lacks it.
    #[tokio::test(start_paused = true)]
    async fn an_input_is_had_of_the_next_who_lists_it_when_the_first_is_slow() {
        let (slow, begun) = (Mutex::default(), Instant::now());
        let shows = |times: [Duration; 3], has: [bool; 3]| {
            move |member: usize| sleep(times[member]).map(move |()| has[member].then_some(member))
        };
        let trickles = shows([TRICKLE, MS, MS], [true, false, true]);
        assert_eq!(first_shown(0..3, &slow, &trickles).await, Some(2));
        assert_eq!(begun.elapsed(), LATE + 2 * MS);
        assert_eq!(first_shown(0..3, &slow, &trickles).await, Some(2));
        assert_eq!(begun.elapsed(), LATE + 3 * MS, "who was slow is asked last");
        // What nobody else shows is waited for.
        assert_eq!(first_shown(0..2, &slow, &trickles).await, Some(0));
        let before = Instant::now();
        let nobody = shows([TRICKLE, MS, MS], [false; 3]);
        assert_eq!(first_shown(0..3, &slow, nobody).await, None);
        assert!(before.elapsed() <= TRICKLE + 2 * LATE);
    }
}
