use super::*;
use crate::{Decoder, Encoder, ObjectTransmissionInformation};

#[test]
fn a_cache_shares_plans_of_a_class_and_forgets_the_oldest() {
    let [ten, twelve, eighteen] = [10, 12, 18].map(|k| EncodingPlan::generate(k).unwrap().bytes());
    let cache = PlanCache::with_max_bytes(ten + twelve.max(eighteen));
    assert!(cache.is_empty());
    let plan = cache.plan(10).unwrap();
    assert!(Arc::ptr_eq(&plan, &cache.clone().plan(3).unwrap()), "3 symbols are extended to 10");
    cache.plan(12).unwrap();
    assert_eq!((cache.len(), cache.bytes()), (2, ten + twelve));
    assert!(Arc::ptr_eq(&plan, &cache.plan(10).unwrap()));
    cache.plan(18).unwrap(); // the oldest is 12 now
    assert_eq!((cache.len(), cache.bytes()), (2, ten + eighteen));
    assert!(Arc::ptr_eq(&plan, &cache.plan(10).unwrap()));
    cache.clear();
    assert_eq!((cache.len(), cache.bytes()), (0, 0));
    assert!(!Arc::ptr_eq(&plan, &cache.plan(10).unwrap()));
    assert!(cache.plan(0).is_err() && cache.plan(56_404).is_err());
    assert_eq!(cache.len(), 1, "a plan that cannot be takes no room");
}

#[test]
fn a_plan_whose_program_is_made_later_counts() {
    let [outline, whole] = [EncodingPlan::outline(300), EncodingPlan::generate(300)].map(|plan| plan.unwrap().bytes());
    assert!(whole > outline);
    let cache = PlanCache::with_max_bytes(2 * outline);
    let plan = cache.outline(300).unwrap();
    cache.outline(10).unwrap();
    assert_eq!(cache.len(), 2);
    plan.program();
    cache.outline(10).unwrap();
    assert_eq!(cache.len(), 1, "{whole} bytes of {}", 2 * outline);
    assert!(cache.bytes() <= 2 * outline);
}

#[test]
fn a_plan_larger_than_the_cache_is_kept_alone() {
    let cache = PlanCache::with_max_bytes(1);
    let hundred = cache.plan(100).unwrap();
    assert!(Arc::ptr_eq(&hundred, &cache.plan(100).unwrap()));
    cache.plan(200).unwrap();
    assert_eq!(cache.len(), 1);
    assert!(!Arc::ptr_eq(&hundred, &cache.plan(100).unwrap()));
}

#[test]
fn threads_that_want_the_same_plan_get_the_same() {
    let cache = PlanCache::new();
    let plans: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| cache.plan(100).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(plans.iter().all(|plan| Arc::ptr_eq(plan, &plans[0])));
}

#[test]
fn objects_share_the_plans_of_the_process_unless_told_otherwise() {
    // A K' that no other test of this program asks for.
    let object = std::vec![7; 2001];
    let oti = ObjectTransmissionInformation::new(2001, 1, 1, 1, 1).unwrap();
    let encoder = Encoder::new(&object, oti).unwrap();
    let plan = PlanCache::global().plan(2001).unwrap();
    assert!(Arc::ptr_eq(&plan, &encoder.plans()[0]));
    let id = crate::PayloadId::new(0, 0).unwrap();
    let mut decoder = Decoder::new(oti).unwrap();
    decoder.add_symbol(id, &[7]).unwrap();
    assert!(Arc::ptr_eq(&plan, &decoder.plans()[0]));
    let own = PlanCache::new();
    let mut decoder = Decoder::new(oti).unwrap().with_cache(&own);
    decoder.add_symbol(id, &[7]).unwrap();
    assert!(!Arc::ptr_eq(&plan, &decoder.plans()[0]) && own.len() == 1);
}
