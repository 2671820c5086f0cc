// An unchanged `ws` client against the echo server: node clients.mjs PORT. One line a check: "ok ..." or "FAIL ...".
import { once } from "node:events";
import { WebSocket } from "ws";

const url = `ws://127.0.0.1:${process.argv[2]}/`;

async function open(options, path = "") {
  const ws = new WebSocket(url + path, options);
  await once(ws, "open");
  return ws;
}

async function echo(ws, data) {
  ws.send(data);
  const [message, isBinary] = await once(ws, "message");
  const sent = Buffer.from(data);
  if (isBinary !== (typeof data !== "string") || !message.equals(sent)) {
    throw new Error(`sent ${sent.length} bytes, got ${message.length}, binary ${isBinary}`);
  }
}

async function close(ws, code, reason) {
  ws.close(code, reason);
  const [gotCode] = await once(ws, "close");
  if (gotCode !== code) throw new Error(`closed with ${gotCode}, want ${code}`);
}

const text = JSON.stringify(Array.from({ length: 20000 }, (_, i) => ({ number: i, name: `block ${i} é` })));

const checks = {
  "text and binary, plain": async () => {
    const ws = await open({ perMessageDeflate: false });
    if (ws.extensions !== "") throw new Error(`compression nobody asked for: ${ws.extensions}`);
    for (const data of ["", "hello", "größe", text, Buffer.alloc(0), Buffer.alloc(3 << 20, 0xfe)]) await echo(ws, data);
    await close(ws, 1000, "done");
  },
  "compressed, with every option the client has": async () => {
    for (const options of [true, { serverNoContextTakeover: true }, { clientNoContextTakeover: true },
      { serverMaxWindowBits: 10 }, { clientMaxWindowBits: 10 }, { threshold: 0 }]) {
      const ws = await open({ perMessageDeflate: options });
      if (!ws.extensions.startsWith("permessage-deflate")) throw new Error("no compression agreed");
      for (let i = 0; i < 5; i++) await echo(ws, text);
      await echo(ws, "short");
      await echo(ws, Buffer.from(text));
      await close(ws, 4321, "done");
    }
  },
  "pings and fragments": async () => {
    const ws = await open({});
    ws.send("one ", { fin: false });
    ws.ping("still there?");
    const [pong] = await once(ws, "pong");
    if (pong.toString() !== "still there?") throw new Error(`pong ${pong}`);
    ws.send("message", { fin: true });
    const [message] = await once(ws, "message");
    if (message.toString() !== "one message") throw new Error(`got ${message}`);
    await close(ws, 1001, "");
  },
  "a message that is too big": async () => {
    for (const perMessageDeflate of [false, true]) {
      const ws = await open({ perMessageDeflate }, "small");
      ws.send("x".repeat(65537));
      const [code, reason] = await once(ws, "close");
      if (code !== 1009 || reason.toString() !== "message too big") throw new Error(`closed with ${code} ${reason}`);
    }
  },
  "many at once": async () => {
    const all = await Promise.all(Array.from({ length: 200 }, () => open({})));
    await Promise.all(all.map(async (ws, i) => {
      for (let k = 0; k < 5; k++) await echo(ws, `connection ${i} message ${k}`);
      await close(ws, 1000, "");
    }));
  },
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await Promise.race([check(), new Promise((_, no) => setTimeout(() => no(new Error("takes too long")), 60000).unref())]);
    console.log(`ok ws: ${name}`);
  } catch (e) {
    failed++;
    console.log(`FAIL ws: ${name}: ${e.message}`);
  }
}
process.exit(failed);
