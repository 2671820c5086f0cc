// A player of somebody else's: @dailymotion/vast-client reads a document of ours, plays it from its beginning to its end, and
// fetches what it is to fetch. usage: node player.mjs URL; writes what it saw and fetched as JSON.
import {createRequire} from 'node:module';

const require = createRequire(import.meta.url);
const {VASTClient, VASTTracker} = require('@dailymotion/vast-client');
const url = process.argv[2];
const fetched = [];
const pending = [];
VASTTracker.prototype.trackURLs = function trackURLs(templates) {
  for (const t of templates) {
    const to = (t.url ?? t).replaceAll(/\[[A-Z]+\]/g, '1');
    fetched.push(to);
    pending.push(fetch(to).then((r) => { if (r.status !== 204) throw new Error(`${to}: ${r.status}`); }));
  }
};
const client = new VASTClient();
const urlHandler = {
  get: async (u) => {
    const {DOMParser} = require('@xmldom/xmldom');
    const text = await (await fetch(u)).text();
    return {xml: new DOMParser().parseFromString(text, 'text/xml'), statusCode: 200, byteLength: text.length, duration: 1};
  },
};
const answer = await client.get(url, {urlHandler, resolveAll: true});
const ads = [];
for (const ad of answer.ads) {
  const creative = ad.creatives.find((c) => c.type === 'linear');
  const tracker = new VASTTracker(client, ad, creative);
  let clicked = '';
  tracker.on('clickthrough', (to) => { clicked = to; });
  tracker.load?.({});
  tracker.setDuration(creative.duration);
  tracker.trackImpression();
  tracker.trackImpression(); // once is enough
  for (let t = 0; t < creative.duration; t += 0.25) tracker.setProgress(t);
  tracker.setMuted(true);
  tracker.setMuted(false);
  tracker.setPaused(true);
  tracker.setPaused(false);
  tracker.click('');
  tracker.complete();
  ads.push({
    id: ad.id, sequence: ad.sequence, system: ad.system?.value, title: ad.title, duration: creative.duration, clicked,
    files: creative.mediaFiles.map((m) => ({url: m.fileURL, type: m.mimeType, width: m.width, height: m.height, bitrate: m.bitrate})),
    universal: creative.universalAdIds?.map((u) => u.value), errors: ad.errorURLTemplates.length,
  });
}
await Promise.all(pending);
console.log(JSON.stringify({version: answer.version, ads, fetched}));
