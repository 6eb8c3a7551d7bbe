// Uses a database through the official clients for JavaScript, and prints what they said as lines of JSON.
import { createClient } from "@libsql/client";
import { connect } from "@tursodatabase/serverless";

const [url, authToken] = process.argv.slice(2);
const plain = (_key, value) => (typeof value === "bigint" ? String(value) : value);

async function say(name, work) {
  let outcome;
  try {
    outcome = await work();
  } catch (error) {
    outcome = { error: error.code };
  }
  console.log(JSON.stringify([name, outcome ?? null], plain));
}

const client = createClient({ url, authToken });
await say("migrate", () => client.migrate([
  "CREATE TABLE clients (id INTEGER PRIMARY KEY, name TEXT)",
  "INSERT INTO clients (name) VALUES ('a')",
]));
await say("arguments by name", () => client.execute({ sql: "SELECT :a AS a, @b AS b", args: { a: 1, b: "x" } }));
await say("arguments by place", () => client.execute({ sql: "SELECT ?, ?, ?", args: [new Uint8Array([0, 255]), null, 1.5] }));
await say("batch", () => client.batch(
  ["INSERT INTO clients (name) VALUES ('b')", { sql: "SELECT count(*) FROM clients WHERE name = ?", args: ["b"] }],
  "write",
));
await say("update", () => client.execute("UPDATE clients SET name = 'c'"));
await say("transaction", async () => {
  const transaction = await client.transaction("write");
  await transaction.execute("INSERT INTO clients (name) VALUES ('t')");
  const { rows } = await transaction.execute("SELECT count(*) FROM clients");
  await transaction.commit();
  return rows;
});
await say("several statements", () => client.executeMultiple("CREATE TABLE two (a); DROP TABLE two;"));
await say("unknown column", () => client.execute("SELECT nope"));
await say("constraint", () => client.execute("INSERT INTO clients (id) VALUES (1)"));
client.close();

const serverless = connect({ url, authToken });
await say("prepared", async () => (await serverless.prepare("SELECT ? AS a")).all([5]));
await say("run", async () => (await serverless.prepare("INSERT INTO clients (name) VALUES (?)")).run(["z"]));
await say("serverless batch", () => serverless.batch(["INSERT INTO clients (name) VALUES ('s')", "SELECT 1"]));
await say("iterated", async () => {
  const names = [];
  for await (const row of (await serverless.prepare("SELECT name FROM clients ORDER BY id")).iterate()) {
    names.push(row.name);
  }
  return names;
});
await say("serverless transaction", () => serverless.transaction(async () => {
  await serverless.exec("DROP TABLE clients");
  return "done";
})());
